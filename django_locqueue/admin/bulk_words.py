"""The words for a change to all tasks that match."""

from typing import Any, NamedTuple

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy


class Words(NamedTuple):
    """``question``, ``yes`` and ``begun`` have a %(number)s, whose plural is that of ``count``."""

    label: Any
    question: Any
    yes: Any
    begun: Any
    warning: Any = ""


_TWICE = _("This runs the tasks again with the same arguments. If a task is not safe to run twice, do not retry it.")
WORDS = {
    "retry": Words(
        _("Retry"),
        ngettext_lazy("Retry %(number)s task?", "Retry %(number)s tasks?", "count"),
        ngettext_lazy("Yes, retry %(number)s task", "Yes, retry %(number)s tasks", "count"),
        ngettext_lazy(
            "Retrying %(number)s task in the background.", "Retrying %(number)s tasks in the background.", "count"
        ),
        _TWICE,
    ),
    "run": Words(
        _("Run now"),
        ngettext_lazy("Run %(number)s task now?", "Run %(number)s tasks now?", "count"),
        ngettext_lazy("Yes, run %(number)s task now", "Yes, run %(number)s tasks now", "count"),
        ngettext_lazy(
            "Making %(number)s task ready in the background.",
            "Making %(number)s tasks ready in the background.",
            "count",
        ),
        _("They no longer wait for their time, and run as soon as a worker is free."),
    ),
    "cancel": Words(
        _("Cancel"),
        ngettext_lazy("Cancel %(number)s task?", "Cancel %(number)s tasks?", "count"),
        ngettext_lazy("Yes, cancel %(number)s task", "Yes, cancel %(number)s tasks", "count"),
        ngettext_lazy(
            "Cancelling %(number)s task in the background.", "Cancelling %(number)s tasks in the background.", "count"
        ),
        _(
            "A task that waits is cancelled at once. One that runs is asked to stop, and then interrupted; what waits "
            "in a library for an answer stops when it comes."
        ),
    ),
    "stop": Words(
        _("Stop retrying"),
        ngettext_lazy("Stop retrying %(number)s task?", "Stop retrying %(number)s tasks?", "count"),
        ngettext_lazy("Yes, stop retrying %(number)s task", "Yes, stop retrying %(number)s tasks", "count"),
        ngettext_lazy(
            "Ending %(number)s task in the background.", "Ending %(number)s tasks in the background.", "count"
        ),
        _("They are cancelled, and not tried again."),
    ),
    "delete": Words(
        _("Delete"),
        ngettext_lazy("Delete %(number)s task?", "Delete %(number)s tasks?", "count"),
        ngettext_lazy("Yes, delete %(number)s task", "Yes, delete %(number)s tasks", "count"),
        ngettext_lazy(
            "Deleting %(number)s task in the background.", "Deleting %(number)s tasks in the background.", "count"
        ),
        _("Their arguments, results and error history are removed. This cannot be undone."),
    ),
    "again": Words(
        _("Run again as a new task"),
        ngettext_lazy("Run %(number)s task again?", "Run %(number)s tasks again?", "count"),
        ngettext_lazy("Yes, run %(number)s task again", "Yes, run %(number)s tasks again", "count"),
        ngettext_lazy(
            "Adding %(number)s task in the background.", "Adding %(number)s tasks in the background.", "count"
        ),
        _("Each is added once more with the same arguments. Do so only if it is safe to run twice."),
    ),
    "dismiss": Words(
        _("Dismiss"),
        ngettext_lazy("Dismiss %(number)s task?", "Dismiss %(number)s tasks?", "count"),
        ngettext_lazy("Yes, dismiss %(number)s task", "Yes, dismiss %(number)s tasks", "count"),
        ngettext_lazy(
            "Dismissing %(number)s task in the background.", "Dismissing %(number)s tasks in the background.", "count"
        ),
        _("The records are kept, and leave the list of failed tasks."),
    ),
    "put_back": Words(
        _("Put back in the queue"),
        ngettext_lazy("Put %(number)s task back in the queue?", "Put %(number)s tasks back in the queue?", "count"),
        ngettext_lazy("Yes, put %(number)s task back", "Yes, put %(number)s tasks back", "count"),
        ngettext_lazy(
            "Putting %(number)s task back in the background.",
            "Putting %(number)s tasks back in the background.",
            "count",
        ),
        _("Only tasks whose worker stopped answering are put back. They may run twice."),
    ),
    "change_time": Words(
        _("Change time"),
        ngettext_lazy("Change the time of %(number)s task?", "Change the time of %(number)s tasks?", "count"),
        ngettext_lazy("Yes, change the time of %(number)s task", "Yes, change the time of %(number)s tasks", "count"),
        ngettext_lazy(
            "Changing the time of %(number)s task in the background.",
            "Changing the time of %(number)s tasks in the background.",
            "count",
        ),
        _("They wait until then. If the time has passed, they run as soon as a worker is free."),
    ),
    "move": Words(
        _("Move to another queue"),
        ngettext_lazy("Move %(number)s task to another queue?", "Move %(number)s tasks to another queue?", "count"),
        ngettext_lazy("Yes, move %(number)s task", "Yes, move %(number)s tasks", "count"),
        ngettext_lazy(
            "Moving %(number)s task in the background.", "Moving %(number)s tasks in the background.", "count"
        ),
        _("They are served by the workers of that queue."),
    ),
    "change_priority": Words(
        _("Change priority"),
        ngettext_lazy("Change the priority of %(number)s task?", "Change the priority of %(number)s tasks?", "count"),
        ngettext_lazy(
            "Yes, change the priority of %(number)s task", "Yes, change the priority of %(number)s tasks", "count"
        ),
        ngettext_lazy(
            "Changing the priority of %(number)s task in the background.",
            "Changing the priority of %(number)s tasks in the background.",
            "count",
        ),
        _("Workers take tasks of a higher priority first."),
    ),
}


def label_of(verb: str) -> Any:
    """Return the word for a verb; one that only another version knows is its own."""
    return WORDS[verb].label if verb in WORDS else verb
