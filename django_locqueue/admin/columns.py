"""The columns of the task lists. All they print is escaped, legible and masked; none asks the database."""

import math
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from django_locqueue import registry
from django_locqueue.admin import moments
from django_locqueue.admin.badges import badge, state_badge
from django_locqueue.admin.payloads import arguments_line
from django_locqueue.admin.slow import is_slow
from django_locqueue.models import Limit, State, Task
from django_locqueue.models.task import worker_names
from django_locqueue.policies import excerpt, legible, masking

LINE_LENGTH = 200  # characters of the stored arguments that a list reads


class TaskColumns:
    """To be mixed into a model admin whose rows come with ``arguments_start`` and ``worker_ids_end``."""

    admin_site: Any

    def task_url(self, task: Task) -> str:
        return reverse("admin:locqueue_task_change", args=[task.pk], current_app=self.admin_site.name)

    @admin.display(description=_("task"))
    def task_column(self, task: Any) -> Any:
        return format_html(
            '<a href="{}">{}</a> <span class="lq-quiet">#{}</span><div class="lq-line">{}</div>',
            self.task_url(task),
            task_name(task.task_path),
            task.pk,
            arguments_line(task.arguments_start, cut=len(task.arguments_start) == LINE_LENGTH),
        )

    @admin.display(description=_("state"))
    def state_column(self, task: Task) -> Any:
        return state_badge(task)

    @admin.display(description=_("queue"))
    def queue_column(self, task: Task) -> str:
        return legible.line(task.queue_name)

    @admin.display(description=_("priority"))
    def priority_column(self, task: Task) -> int:
        return task.priority

    @admin.display(description=_("attempt"))
    def attempt_column(self, task: Task) -> str:
        return f"{task.attempt}/{task.max_attempts}"

    @admin.display(description=_("worker"))
    def worker_column(self, task: Any) -> Any:
        """The last one, as a link to all that it has run: its own row may be gone."""
        names = worker_names(task.worker_ids_end)
        if not names:
            return "–"
        url = reverse("admin:locqueue_task_changelist", current_app=self.admin_site.name)
        return format_html('<a href="{}?{}">{}</a>', url, urlencode({"worker": names[-1]}), legible.line(names[-1]))

    @admin.display(description=_("added"))
    def added_column(self, task: Task) -> Any:
        return moments.time_tag(task.enqueued_at)

    @admin.display(description=_("when"))
    def when_column(self, task: Task) -> Any:
        if task.state == State.READY:
            return State.READY.label
        if task.limit_key is not None and task.state == State.BLOCKED:
            return _("limit %(name)s") % {"name": Limit.name_of(task.limit_key)}
        return moments.time_tag(task.run_after)

    @admin.display(description=_("waiting"))
    def waiting_column(self, task: Task) -> str:
        if task.state not in (State.READY, State.BLOCKED):
            return "–"
        return moments.span(timezone.now() - max(task.enqueued_at, task.run_after))

    @admin.display(description=_("started"))
    def started_column(self, task: Task) -> Any:
        return moments.time_tag(task.last_attempted_at or task.started_at)

    @admin.display(description=_("running for"))
    def running_for_column(self, task: Task) -> Any:
        started = task.last_attempted_at or task.started_at
        if started is None:
            return "–"
        ran = timezone.now() - started
        return format_html("{} {}", moments.span(ran), badge("slow") if is_slow(task.task_path, ran) else "")

    @admin.display(description=_("progress"), empty_value="–")
    def progress_column(self, task: Task) -> Any:
        return progress_bar(task) or None

    @admin.display(description=pgettext_lazy("tasks", "added by"))
    def added_by_column(self, task: Any) -> Any:
        """Who added it, as its metadata say: a schedule, a person, or a request; else code."""
        try:
            found = excerpt.read(task.metadata_start or "{}", cut=len(task.metadata_start or "") == LINE_LENGTH)
        except excerpt.Unreadable:
            found = None
        found = found if isinstance(found, dict) else {}
        schedule = found.get("schedule")
        if isinstance(schedule, dict) and schedule.get("name"):
            return _("schedule %(name)s") % {"name": legible.line(str(schedule["name"])[:50])}
        if isinstance(found.get("added_by"), str):
            return legible.line(found["added_by"][:50])
        return _("a request") if found.get("request_id") else _("code")

    @admin.display(description=_("worker"))
    def live_worker_column(self, task: Any) -> Any:
        url = reverse("admin:locqueue_worker_changelist", current_app=self.admin_site.name)
        name: Any = self.worker_column(task)
        if task.worker:
            name = format_html('<a href="{}">{}</a>', url, legible.line(task.worker.name))
        lost = ""
        if task.worker_is_lost:
            words = _("It goes back to the queue soon.")
            lost = format_html('{}<div class="lq-quiet">{}</div>', badge("lost"), words)
        asked = format_html('<span class="lq-quiet">{}</span>', _("asked to stop")) if task.cancel_requested else ""
        return format_html("{} {} {}", name, lost, asked)

    @admin.display(description=_("heartbeat"))
    def heartbeat_column(self, task: Any) -> Any:
        return moments.time_tag(task.worker.heartbeat_at) if task.worker else "–"

    @admin.display(description=_("error"))
    def error_column(self, task: Task) -> Any:
        return error_line(task.error_class, task.error_message)

    @admin.display(description=_("last error"))
    def last_error_column(self, task: Task) -> Any:
        return error_line(task.error_class, task.error_message)

    @admin.display(description=_("attempts"))
    def tries_column(self, task: Task) -> Any:
        return tries(task)

    @admin.display(description=_("retried by"), empty_value="–")
    def retried_by_column(self, task: Task) -> str | None:
        return legible.line(task.retried_by) or None

    @admin.display(description=pgettext_lazy("tasks", "wait"))
    def wait_column(self, task: Task) -> str:
        if task.started_at is None:
            return "–"
        return moments.span(task.started_at - task.ready_at)

    @admin.display(description=_("failed"))
    def failed_column(self, task: Task) -> Any:
        return moments.time_tag(task.finished_at)

    @admin.display(description=_("next try or end"))
    def next_or_end_column(self, task: Task) -> Any:
        return moments.time_tag(task.finished_at if task.is_finished else task.run_after)

    @admin.display(description=_("finished"))
    def finished_column(self, task: Task) -> Any:
        return moments.time_tag(task.finished_at)

    @admin.display(description=_("ran for"))
    def ran_for_column(self, task: Task) -> str:
        if not (task.finished_at and task.last_attempted_at and task.state != State.CANCELLED):
            return "–"
        return moments.span(task.finished_at - task.last_attempted_at)


MOST_TRIES = 8  # that are drawn


def tries(task: Task) -> Any:
    """Return how its attempts went, one sign each, with the numbers in words: ✕✕✓ 3/5."""
    left = 0 if task.is_finished else max(0, task.max_attempts - task.attempt)
    last = {"successful": "✓", "running": "▶"}.get(task.state, "✕")
    if task.attempt + left > MOST_TRIES:
        signs = f"✕…{last}"
    else:
        signs = "✕" * (task.attempt - 1) + last * bool(task.attempt) + "○" * left
    numbers = f"{task.attempt}/{max(task.attempt, task.max_attempts)}"
    return format_html('<span class="lq-tries" aria-hidden="true">{}</span> {}', signs, numbers)


def progress_bar(task: Task) -> Any:
    """Return how far a task is: a bar and the task's own words; empty if it has said nothing."""
    message = legible.line(masking.mask_text(task.progress_message))
    fraction = task.progress
    if fraction is None or not math.isfinite(fraction):
        return message
    percent = _("%(percent)s %%") % {"percent": number_format(int(min(max(fraction, 0), 1) * 100), 0)}
    return format_html(
        '<progress class="lq-progress" value="{}" max="1">{}</progress> {} {}',
        f"{fraction:.4f}",
        percent,
        percent,
        format_html('<span class="lq-quiet">{}</span>', message) if message else "",
    )


def error_name(path: str) -> str:
    """Return the path of an exception as a traceback has it: built-in ones without their module."""
    return legible.line(path.removeprefix("builtins."))


def task_name(path: str) -> str:
    """Return what the function is called that now has this path's place."""
    return legible.line(registry.present_path(path).rpartition(".")[2]) or "?"


def error_line(error_class: str, message: str) -> Any:
    """Return the error's class without its module, and its message."""
    if not error_class:
        return "–"
    name = legible.line(error_class.rpartition(".")[2])
    return format_html(
        '<span class="lq-error" title="{}">{}</span>{}{}',
        error_name(error_class),
        name,
        ": " if message else "",
        legible.line(masking.mask_text(message)),
    )
