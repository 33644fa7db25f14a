"""What people did, in words: the verb of an activity, and where."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy, pgettext_lazy

from django_locqueue.admin import moments
from django_locqueue.admin.changes import CANCEL, CHANGES
from django_locqueue.admin.selection_words import stored_words
from django_locqueue.models import Activity, ErrorGroup
from django_locqueue.policies import legible

MOST_IDS = 10  # that are listed

# Changes of tasks are worded by their count, the others by themselves.
OF_TASKS: dict[str, Any] = {
    **{change.verb.name: change.done for change in reversed(CHANGES.values())},
    "cancel": CANCEL.done,
}
OTHERS: dict[str, Any] = {
    "enqueue": gettext_lazy("Added a task."),
    "view_payload": gettext_lazy("Looked at hidden values."),
    "cancel_workflow": gettext_lazy("Cancelled a workflow."),
    "pause": gettext_lazy("Paused a queue."),
    "resume": gettext_lazy("Resumed a queue."),
    "resume_limit": gettext_lazy("Let a limit go on."),
    "stop_worker": gettext_lazy("Asked a worker to stop."),
    "schedule_run": gettext_lazy("Ran a schedule."),
    "schedule_on": gettext_lazy("Turned a schedule on."),
    "schedule_off": gettext_lazy("Turned a schedule off."),
    "schedule_delete": gettext_lazy("Deleted a schedule."),
    "schedule_add": gettext_lazy("Added a schedule."),
    "schedule_change": gettext_lazy("Changed a schedule."),
    "bulk_start": gettext_lazy("Asked for a bulk operation."),
    "bulk_stop": gettext_lazy("Stopped a bulk operation."),
    "prune": ngettext_lazy("Deleted %(count)s old task.", "Deleted %(count)s old tasks.", "count"),
}
COUNTED = {*OF_TASKS, "prune"}
ON_ONE_TASK = {*OF_TASKS, "enqueue", "view_payload"}

# What a change was asked for besides, by the options of its verb.
CHOSEN = {
    "run_after": pgettext_lazy("condition", "time"),
    "queue_name": pgettext_lazy("condition", "to queue"),
    "priority": pgettext_lazy("condition", "priority"),
    "fresh_attempts": gettext_lazy("give them a fresh set of attempts"),
}


def what(activity: Activity) -> str:
    """Return the verb in words: ``Retried 14 tasks.``"""
    words = OF_TASKS.get(activity.verb) or OTHERS.get(activity.verb)
    if words is None:
        return legible.line(activity.verb)  # another version's
    if activity.verb not in COUNTED:
        return str(words)
    said = str(words % {"count": activity.changed})
    return said.replace(str(activity.changed), _grouped(activity.changed), 1)


def where(activity: Activity, groups: Mapping[str, ErrorGroup]) -> str:
    """Return the filter in words, or the ids; empty for a single object, which has its name.

    ``groups``: the kinds of errors that filters name, by fingerprint.
    """
    selection = activity.selection
    if not isinstance(selection, Mapping):
        return ""
    found = []
    if is_filter(selection):
        found.append(stored_words({key: value for key, value in selection.items() if key != "options"}, groups))
    if isinstance(ids := selection.get("ids"), list):
        more = len(ids) - MOST_IDS
        listed = ", ".join(f"#{pk}" for pk in ids[:MOST_IDS])
        found.append(f"{listed} …" if more > 0 else listed)
    if isinstance(options := selection.get("options"), Mapping):
        found += chosen(options)
    return legible.line(" · ".join(found))


def chosen(options: Mapping[str, Any]) -> list[str]:
    """Return in words what a change was asked for besides."""
    return [
        _("%(condition)s: %(value)s") % {"condition": CHOSEN.get(key, key), "value": _value(key, value)}
        for key, value in options.items()
    ]


def is_filter(selection: Any) -> bool:
    """Whether it says which tasks are meant by conditions: those of a bulk operation."""
    return isinstance(selection, Mapping) and "listing" in selection


def counts(activity: Activity) -> str:
    """Return ``12`` or ``12/2``: how many were changed, and how many skipped."""
    changed = _grouped(activity.changed)
    return f"{changed}/{_grouped(activity.skipped)}" if activity.skipped else changed


def _grouped(count: int) -> str:
    return number_format(count, force_grouping=True)


def _value(key: str, value: Any) -> Any:
    """Return an option as people read it."""
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if key == "run_after" and isinstance(value, str):
        try:
            return moments.whole(datetime.fromisoformat(value))
        except ValueError:
            pass
    return value
