"""The list of limits, and why a task waits under one."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.db.models import Count
from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import re_path, reverse
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue.admin import moments
from django_locqueue.admin.noting import note
from django_locqueue.admin.page_base import button
from django_locqueue.admin.pages import page
from django_locqueue.admin.permissions import may
from django_locqueue.admin.plain_list import PlainListAdmin
from django_locqueue.admin.strip import MOST_QUEUES
from django_locqueue.clock import DatabaseNow
from django_locqueue.models import Limit, Queue, Task, orderings
from django_locqueue.observability.stats import capped_counts, capped_text
from django_locqueue.policies import legible
from django_locqueue.policies.terms import Terms, load_terms
from django_locqueue.store import get_store
from django_locqueue.store.limit_rows import rate_key, rate_of

PERMISSION = "locqueue.pause_queue"


@page(Limit)
class LimitAdmin(PlainListAdmin):
    empty = gettext_lazy("Limits appear here when a worker serves the first task under them.")
    introduction = gettext_lazy("Rates and numbers of running tasks that tasks share, over all workers.")
    ordering = ("key",)
    list_display = ("name_column", "allowed_column", "running_column", "waiting_column", "next_column")

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).annotate(at=DatabaseNow())

    def complete(self, rows: list[Any]) -> None:
        keys = [limit.key for limit in rows]
        running = Task.objects.running().filter(limit_key__in=keys).order_by()
        counts = dict(running.values_list("limit_key").annotate(Count("pk"))) if rows else {}
        # Lines are found by their queue first: the index is made for the workers.
        queues = list(Queue.objects.order_by("name").values_list("name", flat=True)[:MOST_QUEUES])
        lines = {key: Task.objects.limited().filter(queue_name__in=queues, limit_key=key) for key in keys}
        waiting = capped_counts({key: line.order_by(*orderings.LIMITED) for key, line in lines.items()})
        for limit in rows:
            limit.running = counts.get(limit.key, 0)
            limit.waiting = waiting[limit.key]

    def get_list_display(self, request: Any) -> Any:
        if not may(request, PERMISSION):
            return self.list_display

        @admin.display(description="", empty_value="")
        def buttons(limit: Any) -> Any:
            if not _is_paused(limit):
                return None
            name = "admin:locqueue_limit_resume"
            return button(reverse(name, args=[quote(limit.key)], current_app=self.admin_site.name), _("Go on"))

        return (*self.list_display, buttons)

    @admin.display(description=gettext_lazy("limit"))
    def name_column(self, limit: Limit) -> str:
        return Limit.name_of(limit.key)

    @admin.display(description=gettext_lazy("allows"))
    def allowed_column(self, limit: Limit) -> str:
        at_once = _("%(count)s at once") % {"count": limit.concurrency} if limit.concurrency else ""
        return ", ".join(filter(None, (at_once, legible.line(limit.rate)))) or "–"

    @admin.display(description=gettext_lazy("running"))
    def running_column(self, limit: Any) -> Any:
        return self._number(limit.running, number_format(limit.running, force_grouping=True), limit, "runningtask")

    @admin.display(description=gettext_lazy("waiting"))
    def waiting_column(self, limit: Any) -> Any:
        return self._number(limit.waiting, capped_text(limit.waiting), limit, "pendingtask", tab="blocked")

    def _number(self, count: int, text: str, limit: Limit, page_name: str, **conditions: str) -> Any:
        """Return a number as a link to what it counts, unless the address would show what its name hides."""
        if not count or not limit.key.endswith(str(limit)):
            return text
        query = urlencode({**conditions, "limit": limit.key})
        return format_html('<a href="{}?{}">{}</a>', self.list_url(page_name), query, text)

    @admin.display(description=gettext_lazy("next start"))
    def next_column(self, limit: Any) -> Any:
        if _is_paused(limit):
            return _("paused until %(time)s") % {"time": moments.whole(limit.paused_until)}
        return moments.time_tag(limit.next_at) if limit.next_at is not None and limit.next_at > limit.at else "–"

    # -- changes

    def get_urls(self) -> list[Any]:
        view = self.posted_to(self.resume_view)
        return [re_path(r"^(?P<key>.*)/resume/$", view, name="locqueue_limit_resume"), *super().get_urls()]

    def resume_view(self, request: Any, key: str) -> Any:
        if not may(request, PERMISSION):
            raise PermissionDenied
        limit = get_object_or_404(Limit, pk=self.key_in(key))
        name = Limit.name_of(limit.key)
        if get_store().resume_rate(limit.key):
            self.log_change(request, limit, _("Resumed."))
            note(request, "resume_limit", target=name)
            self.message_user(request, _("Limit “%(name)s” goes on.") % {"name": name}, messages.SUCCESS)
        else:
            self.message_user(request, _("Limit “%(name)s” was not paused.") % {"name": name}, messages.WARNING)
        return HttpResponseRedirect(self.list_url())


def _is_paused(limit: Any) -> bool:
    return limit.paused_until is not None and bool(limit.paused_until > limit.at)


def why_it_waits(task: Any) -> str:
    """Return what holds a task back that waits for its turn; empty for one that waits for something else."""
    if task.limit_key is None:
        return ""
    try:
        terms = load_terms(task.terms)
    except (ValueError, TypeError):  # edited by hand
        return ""
    return (
        _full(task, terms)
        or _closed(terms)
        or _("It is among the next of limit %(name)s.") % {"name": Limit.name_of(task.limit_key)}
    )


def _full(task: Any, terms: Terms) -> str:
    if terms.concurrency is None:
        return ""
    running = Task.objects.running().filter(limit_key=task.limit_key).order_by().count()
    if running < terms.concurrency:
        return ""
    values = {"name": Limit.name_of(task.limit_key), "running": running, "most": terms.concurrency}
    return _("Limit %(name)s: %(running)s of %(most)s running.") % values


def _closed(terms: Terms) -> str:
    key, rate = rate_key(terms), rate_of(terms)
    limit = Limit.objects.filter(pk=key).annotate(at=DatabaseNow()).first() if key and rate else None
    if limit is None:
        return ""
    values = {"name": Limit.name_of(limit.key), "rate": str(rate)}
    if _is_paused(limit):
        return _("Limit %(name)s: paused until %(time)s.") % {**values, "time": moments.whole(limit.paused_until)}
    if limit.next_at is not None and limit.next_at > limit.at:
        return _("Limit %(name)s: %(rate)s, the next start %(time)s.") % {
            **values,
            "time": moments.distance(limit.next_at, limit.at),
        }
    return ""
