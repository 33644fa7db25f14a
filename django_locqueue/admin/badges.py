"""States for people: an icon and a word, never colour alone."""

from typing import Any, NamedTuple

from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from django_locqueue.models import BulkOperation, State, Task


class Badge(NamedTuple):
    icon: str
    label: Any
    meaning: Any
    colour: str  # a class of locqueue.css


BADGES = {
    "scheduled": Badge("◷", State.SCHEDULED.label, _("Waits for its time."), "quiet"),
    "ready": Badge("○", State.READY.label, _("May start as soon as a worker is free."), "quiet"),
    "running": Badge("▶", State.RUNNING.label, _("A worker is running it now."), "run"),
    "retrying": Badge("↻", _("Waiting to retry"), _("Failed; will be tried again by itself."), "warn"),
    "blocked": Badge("◌", State.BLOCKED.label, _("Waits until others of its kind have finished."), "quiet"),
    "successful": Badge("✓", State.SUCCESSFUL.label, _("Finished without error."), "ok"),
    "failed": Badge("✕", State.FAILED.label, _("No attempts left. Will not run again by itself."), "err"),
    "cancelled": Badge("–", State.CANCELLED.label, _("Stopped by a person or by code."), "quiet"),
    "lost": Badge("!", _("Worker lost"), _("Its worker stopped answering."), "err"),
    "crashed": Badge("!", _("Worker lost"), _("Its worker stopped answering."), "err"),
    "timed out": Badge("✕", _("Timed out"), _("It took longer than its timeout."), "err"),
    "workflow running": Badge("▶", State.RUNNING.label, _("Its steps run one after the other."), "run"),
    "workflow successful": Badge("✓", State.SUCCESSFUL.label, _("All its tasks have succeeded."), "ok"),
    "workflow failed": Badge("✕", State.FAILED.label, _("A task of it did not succeed."), "err"),
    "workflow cancelled": Badge("–", State.CANCELLED.label, _("Stopped by a person or by code."), "quiet"),
    "step over": Badge("●", pgettext_lazy("step", "Over"), _("All its tasks have ended."), "quiet"),
    "step running": Badge("▶", pgettext_lazy("step", "Present"), _("Its tasks wait or run."), "run"),
    "step waiting": Badge("◌", pgettext_lazy("step", "To come"), _("Waits for the step before."), "quiet"),
    "step left out": Badge("–", pgettext_lazy("step", "Left out"), _("A step before it did not succeed."), "quiet"),
    "bulk waiting": Badge("○", BulkOperation.State.WAITING.label, _("Begins as soon as a worker is there."), "quiet"),
    "bulk running": Badge("▶", BulkOperation.State.RUNNING.label, _("A worker goes through the tasks."), "run"),
    "bulk done": Badge("✓", BulkOperation.State.DONE.label, _("All tasks that match were looked at."), "ok"),
    "bulk stopped": Badge("–", BulkOperation.State.STOPPED.label, _("A person stopped it."), "quiet"),
    "bulk failed": Badge("✕", BulkOperation.State.FAILED.label, _("It could not be done."), "err"),
    "new error": Badge("✦", pgettext_lazy("error", "New"), _("First seen within the last 24 hours."), "warn"),
    "error is back": Badge("↺", pgettext_lazy("error", "Back"), _("It had been quiet for at least 7 days."), "warn"),
    "slow": Badge("◔", pgettext_lazy("task", "Slow"), _("It has run for more than 3 times its p95."), "warn"),
    "worker starting": Badge("◌", pgettext_lazy("worker", "Starting"), _("Takes its first tasks soon."), "quiet"),
    "worker idle": Badge("○", pgettext_lazy("worker", "Idle"), _("Waits for tasks."), "ok"),
    "worker busy": Badge("●", pgettext_lazy("worker", "Busy"), _("Runs tasks."), "ok"),
    "worker paused": Badge("‖", pgettext_lazy("worker", "Paused"), _("All queues that it serves are paused."), "warn"),
    "worker stopping": Badge(
        "◐", pgettext_lazy("worker", "Stopping"), _("Finishes its tasks and takes no more."), "warn"
    ),
    "worker lost": Badge(
        "!", pgettext_lazy("worker", "Lost"), _("Silent for too long. Its tasks go to other workers."), "err"
    ),
    "stopped": Badge("○", pgettext_lazy("worker", "Stopped"), _("Ended as asked."), "quiet"),
    "active": Badge("●", pgettext_lazy("queue", "Active"), _("Workers take its tasks."), "ok"),
    "no worker": Badge("!", pgettext_lazy("queue", "No worker"), _("No worker serves it."), "err"),
    "draining": Badge("◐", pgettext_lazy("queue", "Draining"), _("Its workers finish and take no more."), "warn"),
    "on": Badge("●", pgettext_lazy("schedule", "On"), _("Adds a task at each of its times."), "ok"),
    "off": Badge("○", pgettext_lazy("schedule", "Off"), _("Adds no tasks."), "quiet"),
    "paused": Badge("‖", pgettext_lazy("queue", "Paused"), _("No task of it is started."), "warn"),
}


def badge(name: str) -> Any:
    """Return the badge ``name`` as HTML."""
    found = BADGES.get(name) or Badge("?", name, "", "quiet")
    return format_html(
        '<span class="lq-badge lq-{}" title="{}"><span aria-hidden="true">{}</span> {}</span>',
        found.colour,
        found.meaning,
        found.icon,
        found.label,
    )


def state_badge(task: Task) -> Any:
    """Return the badge of a task's state; a task that failed and waits for its next try has one of its own."""
    return badge("retrying" if task.is_retrying else task.state)
