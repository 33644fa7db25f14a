"""The list of queues, where they are paused and resumed."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseRedirect
from django.urls import re_path, reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from django_locqueue import registry
from django_locqueue.admin import moments
from django_locqueue.admin.badges import badge
from django_locqueue.admin.bulk_links import bulk_url
from django_locqueue.admin.change_forms import DATETIME, ReasonForm, sent
from django_locqueue.admin.charts import sparkline
from django_locqueue.admin.noting import note
from django_locqueue.admin.page_base import button
from django_locqueue.admin.pages import page
from django_locqueue.admin.permissions import may
from django_locqueue.admin.plain_list import PlainListAdmin
from django_locqueue.clock import DatabaseNow
from django_locqueue.models import Queue, Task
from django_locqueue.observability.history import each_minute
from django_locqueue.observability.snapshot import QueueNow, snapshot
from django_locqueue.observability.stats import capped_text
from django_locqueue.policies import legible, masking
from django_locqueue.store import get_store

PERMISSION = "locqueue.pause_queue"


@page(Queue)
class QueueAdmin(PlainListAdmin):
    empty = gettext_lazy("Queues appear here when a task or a worker uses them.")
    introduction = gettext_lazy("A pause lets running tasks finish. New tasks are accepted and wait.")
    ordering = ("name",)
    list_display = (
        "name_column",
        "state_column",
        "ready_column",
        "oldest_column",
        "blocked_column",
        "scheduled_column",
        "running_column",
        "per_minute_column",
        "wait_column",
        "failed_column",
        "workers_column",
    )

    def get_queryset(self, request: Any) -> Any:
        rows: Any = super().get_queryset(request)
        return rows.with_pause(DatabaseNow())

    def complete(self, rows: list[Any]) -> None:
        present = {queue.name: queue for queue in snapshot().queues}
        limits = registry.pending_limits()
        if len(rows) < self.list_per_page:
            # A queue has a row when a worker has served it; one that none serves is what people come to see.
            known = set(Queue.objects.values_list("name", flat=True))
            rows += [_unserved(name) for name in present if name not in known][: self.list_per_page - len(rows)]
            rows.sort(key=lambda row: row.name)
        minutes = each_minute([row.name for row in rows], now=timezone.now())
        for row in rows:
            row.minutes = minutes[row.name]
            row.present = present.get(row.name) or QueueNow(row.name)  # younger than the snapshot
            row.limit_text = number_format(limits[row.name], force_grouping=True) if row.name in limits else ""

    def get_list_display(self, request: Any) -> Any:
        columns: tuple[Any, ...] = self.list_display
        if registry.pending_limits():
            columns = (*columns, "limit_column")
        may_pause = may(request, PERMISSION)
        if not may_pause and bulk_url(request, self.admin_site, "cancel", "ready") is None:
            return columns

        @admin.display(description="", empty_value="")
        def buttons(queue: Any) -> Any:
            verb, label = ("resume", _("Resume")) if queue.is_paused else ("pause", _("Pause…"))
            pause = button(self.change_url(verb, queue.name), label) if may_pause else ""
            url = bulk_url(request, self.admin_site, "cancel", "ready", queue=queue.name)
            return format_html('{} <a href="{}">{}</a>', pause, url, _("Cancel all ready…")) if url else pause

        return (*columns, buttons)

    @admin.display(description=gettext_lazy("queue"))
    def name_column(self, queue: Any) -> Any:
        """On a phone with the numbers that stand in columns elsewhere and tell of trouble."""
        shown = '{}<div class="lq-narrow"><div class="lq-line">{} {}</div><div class="lq-line">{} {}</div></div>'
        numbers = _("running"), self.running_column(queue), _("failed (24 h)"), self.failed_column(queue)
        return format_html(shown, legible.line(queue.name), *numbers)

    @admin.display(description=gettext_lazy("state"))
    def state_column(self, queue: Any) -> Any:
        if not queue.is_paused:
            return badge(queue.present.state)
        return format_html(
            '{} <div class="lq-line">{}</div>', badge("paused"), format_html_join(" · ", "{}", pause_of(queue))
        )

    @admin.display(description=gettext_lazy("ready"))
    def ready_column(self, queue: Any) -> Any:
        return self._number(queue.present.ready, "pendingtask", tab="ready", queue=queue.name)

    @admin.display(description=gettext_lazy("oldest"), empty_value="–")
    def oldest_column(self, queue: Any) -> Any:
        return _seconds(queue.present.oldest_ready_seconds)

    @admin.display(description=gettext_lazy("blocked"))
    def blocked_column(self, queue: Any) -> Any:
        return self._number(queue.present.limited, "pendingtask", tab="blocked", queue=queue.name)

    @admin.display(description=gettext_lazy("scheduled"))
    def scheduled_column(self, queue: Any) -> Any:
        return self._number(queue.present.scheduled, "pendingtask", tab="scheduled", queue=queue.name)

    @admin.display(description=gettext_lazy("running"))
    def running_column(self, queue: Any) -> Any:
        return self._number(queue.present.running, "runningtask", queue=queue.name)

    @admin.display(description=gettext_lazy("per minute"))
    def per_minute_column(self, queue: Any) -> Any:
        """On average of the last 15 minutes, beside the minutes of the last hour."""
        rate = queue.present.per_minute
        text = number_format(rate, 1 if 0 < rate < 10 else 0, force_grouping=True)
        url = self.list_url("overview")
        drawn = sparkline(_("Finished per minute, the last hour"), queue.minutes)
        return format_html('<a href="{}?{}">{} {}</a>', url, urlencode({"queue": queue.name}), drawn, text)

    @admin.display(description=gettext_lazy("p95 wait"), empty_value="–")
    def wait_column(self, queue: Any) -> Any:
        return _seconds(queue.present.wait_p95)

    @admin.display(description=gettext_lazy("failed (24 h)"))
    def failed_column(self, queue: Any) -> Any:
        return self._number(queue.present.failed_24h, "failedtask", queue=queue.name, last="24h")

    @admin.display(description=gettext_lazy("workers"))
    def workers_column(self, queue: Any) -> Any:
        return format_html('<a href="{}">{}</a>', self.list_url("worker"), number_format(queue.present.workers))

    def _number(self, count: int, page_name: str, **conditions: str) -> Any:
        """Return a number as a link to what it counts."""
        if not count:
            return "0"
        return format_html(
            '<a href="{}?{}">{}</a>', self.list_url(page_name), urlencode(conditions), capped_text(count)
        )

    @admin.display(description=gettext_lazy("most waiting"), empty_value="–")
    def limit_column(self, queue: Any) -> str | None:
        """MAX_PENDING: past it, enqueue raises QueueFull."""
        return queue.limit_text or None

    # -- changes

    def get_urls(self) -> list[Any]:
        return [
            # `.*` and not `<path:…>`: SQL may have made a queue without a name.
            re_path(r"^(?P<name>.*)/pause/$", self.posted_to(self.pause_view), name="locqueue_queue_pause"),
            re_path(r"^(?P<name>.*)/resume/$", self.posted_to(self.resume_view), name="locqueue_queue_resume"),
            re_path(r"^(?P<name>.*)/change/$", self.looked_at(self.to_list), name="locqueue_queue_change"),
            *super().get_urls(),
        ]

    def change_url(self, verb: str, name: str) -> str:
        return reverse(f"admin:locqueue_queue_{verb}", args=[quote(name)], current_app=self.admin_site.name)

    def to_list(self, request: Any, name: str) -> Any:
        """Where the admin's index links to from a change that was logged."""
        return HttpResponseRedirect(self.list_url())

    def pause_view(self, request: Any, name: str) -> Any:
        queue = self._asked_for(request, name)
        form = sent(request, PauseForm)
        if not form.is_valid():
            question = _("Pause queue “%(queue)s”?") % {"queue": legible.line(queue.name)}
            warning = _("Running tasks finish. New tasks are accepted and wait.")
            return self.ask(request, question, form, back=self.list_url(), yes=_("Pause"), warning=warning)
        if get_store().pause(queue.name, by=request.user.get_username(), **form.cleaned_data):
            self.log_change(request, queue, _("Paused."))
            note(request, "pause", target=queue.name, reason=form.cleaned_data["reason"])
            self._say(request, _("Queue “%(queue)s” is paused."), queue, running=_running(queue))
        else:
            self._say(request, _("Queue “%(queue)s” was paused already."), queue, level=messages.WARNING)
        return HttpResponseRedirect(self.list_url())

    def resume_view(self, request: Any, name: str) -> Any:
        queue = self._asked_for(request, name)
        if get_store().resume(queue.name):
            self.log_change(request, queue, _("Resumed."))
            note(request, "resume", target=queue.name)
            self._say(request, _("Queue “%(queue)s” goes on."), queue)
        else:
            self._say(request, _("Queue “%(queue)s” was not paused."), queue, level=messages.WARNING)
        return HttpResponseRedirect(self.list_url())

    def _asked_for(self, request: Any, name: str) -> Any:
        if not may(request, PERMISSION):
            raise PermissionDenied
        name = self.key_in(name)
        queue = Queue.objects.filter(pk=name).first()
        if queue is None and any(name == each.name for each in snapshot(fresh=True).queues):
            queue = _unserved(name)
        if queue is None:
            raise Http404
        return queue

    def _say(
        self, request: Any, sentence: str, queue: Queue, *, running: int = 0, level: int = messages.SUCCESS
    ) -> None:
        said = sentence % {"queue": legible.line(queue.name)}
        if running:
            more = ngettext("%(count)s running task will finish.", "%(count)s running tasks will finish.", running)
            said += " " + more % {"count": running}
        self.message_user(request, said, level)


class PauseForm(ReasonForm):
    until = forms.DateTimeField(
        label=gettext_lazy("goes on by itself at"),
        required=False,
        widget=DATETIME,
        help_text=gettext_lazy("Leave it empty to pause until somebody resumes it."),
    )

    def clean_until(self) -> Any:
        until = self.cleaned_data["until"]
        if until is not None and until <= get_store().now():
            raise forms.ValidationError(_("This time has passed."))
        return until


def pause_of(queue: Queue) -> list[tuple[Any]]:
    """Return what there is to say of a pause: by whom, why, and when it ends."""
    said = [legible.line(queue.paused_by), legible.line(masking.mask_text(queue.pause_reason))]
    until = [_("until %(time)s") % {"time": moments.whole(queue.paused_until)}] if queue.paused_until else []
    return [(each,) for each in (*said, *until) if each]


def _unserved(name: str) -> Any:
    """Return a queue that has no row yet."""
    queue: Any = Queue(name=name)
    queue.is_paused = False
    return queue


def _seconds(seconds: float | None) -> str | None:
    return None if seconds is None else moments.span(timedelta(seconds=seconds))


def _running(queue: Queue) -> int:
    return int(Task.objects.running().filter(queue_name=queue.name).count())
