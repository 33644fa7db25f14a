"""The words for a change to all tasks that match. Its label and its warning are those of the change."""

from typing import Any, NamedTuple

from django.utils.translation import ngettext_lazy

from django_locqueue.admin.changes import CHANGES


class Words(NamedTuple):
    """Each has a %(number)s, whose plural is that of ``count``."""

    question: Any
    yes: Any
    begun: Any


WORDS = {
    "retry": Words(
        ngettext_lazy("Retry %(number)s task?", "Retry %(number)s tasks?", "count"),
        ngettext_lazy("Yes, retry %(number)s task", "Yes, retry %(number)s tasks", "count"),
        ngettext_lazy(
            "Retrying %(number)s task in the background.", "Retrying %(number)s tasks in the background.", "count"
        ),
    ),
    "retry_at": Words(
        ngettext_lazy("Retry %(number)s task at a time?", "Retry %(number)s tasks at a time?", "count"),
        ngettext_lazy("Yes, retry %(number)s task", "Yes, retry %(number)s tasks", "count"),
        ngettext_lazy(
            "Retrying %(number)s task in the background.", "Retrying %(number)s tasks in the background.", "count"
        ),
    ),
    "run": Words(
        ngettext_lazy("Run %(number)s task now?", "Run %(number)s tasks now?", "count"),
        ngettext_lazy("Yes, run %(number)s task now", "Yes, run %(number)s tasks now", "count"),
        ngettext_lazy(
            "Making %(number)s task ready in the background.",
            "Making %(number)s tasks ready in the background.",
            "count",
        ),
    ),
    "cancel": Words(
        ngettext_lazy("Cancel %(number)s task?", "Cancel %(number)s tasks?", "count"),
        ngettext_lazy("Yes, cancel %(number)s task", "Yes, cancel %(number)s tasks", "count"),
        ngettext_lazy(
            "Cancelling %(number)s task in the background.", "Cancelling %(number)s tasks in the background.", "count"
        ),
    ),
    "stop": Words(
        ngettext_lazy("Stop retrying %(number)s task?", "Stop retrying %(number)s tasks?", "count"),
        ngettext_lazy("Yes, stop retrying %(number)s task", "Yes, stop retrying %(number)s tasks", "count"),
        ngettext_lazy(
            "Ending %(number)s task in the background.", "Ending %(number)s tasks in the background.", "count"
        ),
    ),
    "delete": Words(
        ngettext_lazy("Delete %(number)s task?", "Delete %(number)s tasks?", "count"),
        ngettext_lazy("Yes, delete %(number)s task", "Yes, delete %(number)s tasks", "count"),
        ngettext_lazy(
            "Deleting %(number)s task in the background.", "Deleting %(number)s tasks in the background.", "count"
        ),
    ),
    "again": Words(
        ngettext_lazy("Run %(number)s task again?", "Run %(number)s tasks again?", "count"),
        ngettext_lazy("Yes, run %(number)s task again", "Yes, run %(number)s tasks again", "count"),
        ngettext_lazy(
            "Adding %(number)s task in the background.", "Adding %(number)s tasks in the background.", "count"
        ),
    ),
    "dismiss": Words(
        ngettext_lazy("Dismiss %(number)s task?", "Dismiss %(number)s tasks?", "count"),
        ngettext_lazy("Yes, dismiss %(number)s task", "Yes, dismiss %(number)s tasks", "count"),
        ngettext_lazy(
            "Dismissing %(number)s task in the background.", "Dismissing %(number)s tasks in the background.", "count"
        ),
    ),
    "put_back": Words(
        ngettext_lazy("Put %(number)s task back in the queue?", "Put %(number)s tasks back in the queue?", "count"),
        ngettext_lazy("Yes, put %(number)s task back", "Yes, put %(number)s tasks back", "count"),
        ngettext_lazy(
            "Putting %(number)s task back in the background.",
            "Putting %(number)s tasks back in the background.",
            "count",
        ),
    ),
    "change_time": Words(
        ngettext_lazy("Change the time of %(number)s task?", "Change the time of %(number)s tasks?", "count"),
        ngettext_lazy("Yes, change the time of %(number)s task", "Yes, change the time of %(number)s tasks", "count"),
        ngettext_lazy(
            "Changing the time of %(number)s task in the background.",
            "Changing the time of %(number)s tasks in the background.",
            "count",
        ),
    ),
    "move": Words(
        ngettext_lazy("Move %(number)s task to another queue?", "Move %(number)s tasks to another queue?", "count"),
        ngettext_lazy("Yes, move %(number)s task", "Yes, move %(number)s tasks", "count"),
        ngettext_lazy(
            "Moving %(number)s task in the background.", "Moving %(number)s tasks in the background.", "count"
        ),
    ),
    "change_priority": Words(
        ngettext_lazy("Change the priority of %(number)s task?", "Change the priority of %(number)s tasks?", "count"),
        ngettext_lazy(
            "Yes, change the priority of %(number)s task", "Yes, change the priority of %(number)s tasks", "count"
        ),
        ngettext_lazy(
            "Changing the priority of %(number)s task in the background.",
            "Changing the priority of %(number)s tasks in the background.",
            "count",
        ),
    ),
}


def label_of(verb: str) -> str:
    """Return the word for a verb; one that only another version knows is its own."""
    return str(CHANGES[verb].label).rstrip("…") if verb in CHANGES else verb
