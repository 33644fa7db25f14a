"""The words of what a person may do to tasks. Each change is a verb (``verbs.py``), made by the store, and says what it
did.
"""

from django.contrib.admin.models import DELETION
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from django_locqueue.admin.change import Change
from django_locqueue.admin.change_forms import PriorityForm, QueueForm, TimeForm
from django_locqueue.models import State
from django_locqueue.verbs import VERBS

NOT_WAITING = ngettext_lazy(
    "%(count)s was skipped because it no longer waits.", "%(count)s were skipped because they no longer wait.", "count"
)
NO_LONGER_WAITS = _("Nothing was changed: the task no longer waits.")
NOT_FAILED = ngettext_lazy(
    "%(count)s was skipped because it has not failed, or another task holds its unique key.",
    "%(count)s were skipped because they have not failed, or other tasks hold their unique keys.",
    "count",
)
HAS_NOT_FAILED = _("Nothing was changed: the task has not failed, or no longer, or another task holds its unique key.")
SAME_ARGUMENTS = _(
    "This runs the tasks again with the same arguments. If a task is not safe to run twice, do not retry it."
)

RETRY = Change(
    name="retry",
    verb=VERBS["retry"],
    label=_("Retry"),
    question=ngettext_lazy("Retry %(number)s task?", "Retry %(number)s tasks?", "count"),
    yes=ngettext_lazy("Yes, retry %(number)s task", "Yes, retry %(number)s tasks", "count"),
    begun=ngettext_lazy(
        "Retrying %(number)s task in the background.", "Retrying %(number)s tasks in the background.", "count"
    ),
    done=ngettext_lazy("Retried %(count)s task.", "Retried %(count)s tasks.", "count"),
    skipped=NOT_FAILED,
    nothing=HAS_NOT_FAILED,
    logged=_("Retried."),
    warning=SAME_ARGUMENTS,
    asks=False,
)
RETRY_AT = Change(
    name="retry_at",
    verb=VERBS["retry"],
    label=_("Retry at a time…"),
    question=ngettext_lazy("Retry %(number)s task at a time?", "Retry %(number)s tasks at a time?", "count"),
    yes=RETRY.yes,
    begun=RETRY.begun,
    done=ngettext_lazy(
        "%(count)s task will be retried at that time.", "%(count)s tasks will be retried at that time.", "count"
    ),
    skipped=NOT_FAILED,
    nothing=HAS_NOT_FAILED,
    logged=_("To be retried at a time."),
    warning=SAME_ARGUMENTS,
    form=TimeForm,
)
RUN = Change(
    name="run",
    verb=VERBS["run"],
    label=_("Run now"),
    question=ngettext_lazy("Run %(number)s task now?", "Run %(number)s tasks now?", "count"),
    yes=ngettext_lazy("Yes, run %(number)s task now", "Yes, run %(number)s tasks now", "count"),
    begun=ngettext_lazy(
        "Making %(number)s task ready in the background.", "Making %(number)s tasks ready in the background.", "count"
    ),
    done=ngettext_lazy(
        "%(count)s task no longer waits for its time.", "%(count)s tasks no longer wait for their time.", "count"
    ),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it is no longer scheduled.",
        "%(count)s were skipped because they are no longer scheduled.",
        "count",
    ),
    nothing=_("Nothing was changed: the task is no longer scheduled."),
    logged=_("Made ready before its time."),
    asks=False,
)
CHANGE_TIME = Change(
    name="change_time",
    verb=VERBS["change_time"],
    label=_("Change time…"),
    question=ngettext_lazy("Change the time of %(number)s task?", "Change the time of %(number)s tasks?", "count"),
    yes=ngettext_lazy("Yes, change the time of %(number)s task", "Yes, change the time of %(number)s tasks", "count"),
    begun=ngettext_lazy(
        "Changing the time of %(number)s task in the background.",
        "Changing the time of %(number)s tasks in the background.",
        "count",
    ),
    done=ngettext_lazy("%(count)s task has another time.", "%(count)s tasks have another time.", "count"),
    skipped=NOT_WAITING,
    nothing=NO_LONGER_WAITS,
    logged=_("Got another time."),
    form=TimeForm,
    # What waits behind a step of its workflow begins when that has ended.
    offered=lambda verb, task: (
        task.state in verb.states and (task.state != State.BLOCKED or task.limit_key is not None)
    ),
)
MOVE = Change(
    name="move",
    verb=VERBS["move"],
    label=_("Move to another queue…"),
    question=ngettext_lazy(
        "Move %(number)s task to another queue?", "Move %(number)s tasks to another queue?", "count"
    ),
    yes=ngettext_lazy("Yes, move %(number)s task", "Yes, move %(number)s tasks", "count"),
    begun=ngettext_lazy(
        "Moving %(number)s task in the background.", "Moving %(number)s tasks in the background.", "count"
    ),
    done=ngettext_lazy("Moved %(count)s task.", "Moved %(count)s tasks.", "count"),
    skipped=NOT_WAITING,
    nothing=NO_LONGER_WAITS,
    logged=_("Moved to another queue."),
    form=QueueForm,
)
CHANGE_PRIORITY = Change(
    name="change_priority",
    verb=VERBS["change_priority"],
    label=_("Change priority…"),
    question=ngettext_lazy(
        "Change the priority of %(number)s task?", "Change the priority of %(number)s tasks?", "count"
    ),
    yes=ngettext_lazy(
        "Yes, change the priority of %(number)s task", "Yes, change the priority of %(number)s tasks", "count"
    ),
    begun=ngettext_lazy(
        "Changing the priority of %(number)s task in the background.",
        "Changing the priority of %(number)s tasks in the background.",
        "count",
    ),
    done=ngettext_lazy("%(count)s task has another priority.", "%(count)s tasks have another priority.", "count"),
    skipped=NOT_WAITING,
    nothing=NO_LONGER_WAITS,
    logged=_("Got another priority."),
    form=PriorityForm,
)
STOP = Change(
    name="stop",
    verb=VERBS["stop"],
    label=_("Stop retrying"),
    question=ngettext_lazy("Stop retrying %(number)s task?", "Stop retrying %(number)s tasks?", "count"),
    yes=ngettext_lazy("Yes, stop retrying %(number)s task", "Yes, stop retrying %(number)s tasks", "count"),
    begun=ngettext_lazy(
        "Ending %(number)s task in the background.", "Ending %(number)s tasks in the background.", "count"
    ),
    done=ngettext_lazy("%(count)s task will not be retried.", "%(count)s tasks will not be retried.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it does not wait to be retried.",
        "%(count)s were skipped because they do not wait to be retried.",
        "count",
    ),
    nothing=_("Nothing was changed: the task does not wait to be retried."),
    logged=_("Retrying was stopped."),
    warning=_("A task that is not retried ends as cancelled. You can still retry it by hand."),
    offered=lambda verb, task: task.is_retrying,
)
CANCEL = Change(
    name="cancel",
    verb=VERBS["cancel"],
    label=_("Cancel"),
    question=ngettext_lazy("Cancel %(number)s task?", "Cancel %(number)s tasks?", "count"),
    yes=ngettext_lazy("Yes, cancel %(number)s task", "Yes, cancel %(number)s tasks", "count"),
    begun=ngettext_lazy(
        "Cancelling %(number)s task in the background.", "Cancelling %(number)s tasks in the background.", "count"
    ),
    done=ngettext_lazy("Cancelled %(count)s task.", "Cancelled %(count)s tasks.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it has already finished.",
        "%(count)s were skipped because they have already finished.",
        "count",
    ),
    nothing=_("Nothing was changed: the task has already finished."),
    logged=_("Cancelled."),
    warning=_(
        "A task that waits is cancelled at once. One that runs is asked to stop, and then interrupted; what waits "
        "in a library for an answer stops when it comes."
    ),
    offered=lambda verb, task: task.state in verb.states and not task.is_retrying,  # for those it is STOP
)
PUT_BACK = Change(
    name="put_back",
    verb=VERBS["put_back"],
    label=_("Put back in the queue"),
    question=ngettext_lazy(
        "Put %(number)s task back in the queue?", "Put %(number)s tasks back in the queue?", "count"
    ),
    yes=ngettext_lazy("Yes, put %(number)s task back", "Yes, put %(number)s tasks back", "count"),
    begun=ngettext_lazy(
        "Putting %(number)s task back in the background.", "Putting %(number)s tasks back in the background.", "count"
    ),
    done=ngettext_lazy("Put %(count)s task back in the queue.", "Put %(count)s tasks back in the queue.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it does not run, or its worker answers.",
        "%(count)s were skipped because they do not run, or their workers answer.",
        "count",
    ),
    nothing=_("Nothing was changed: the task does not run, or its worker answers."),
    logged=_("Put back in the queue."),
    warning=_("Only tasks whose worker does not answer are put back. They may run twice."),
    offered=lambda verb, task: task.state in verb.states and getattr(task, "worker_is_lost", True),
)
DISMISS = Change(
    name="dismiss",
    verb=VERBS["dismiss"],
    label=_("Dismiss"),
    question=ngettext_lazy("Dismiss %(number)s task?", "Dismiss %(number)s tasks?", "count"),
    yes=ngettext_lazy("Yes, dismiss %(number)s task", "Yes, dismiss %(number)s tasks", "count"),
    begun=ngettext_lazy(
        "Dismissing %(number)s task in the background.", "Dismissing %(number)s tasks in the background.", "count"
    ),
    done=ngettext_lazy("Dismissed %(count)s task.", "Dismissed %(count)s tasks.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it has not failed, or was already dismissed.",
        "%(count)s were skipped because they have not failed, or were already dismissed.",
        "count",
    ),
    nothing=_("Nothing was changed: the task has not failed, or was already dismissed."),
    logged=_("Dismissed."),
    offered=lambda verb, task: task.state in verb.states and not task.dismissed,
    asks=False,
)
AGAIN = Change(
    name="again",
    verb=VERBS["again"],
    label=_("Run again as a new task"),
    question=ngettext_lazy("Run %(number)s task again?", "Run %(number)s tasks again?", "count"),
    yes=ngettext_lazy("Yes, run %(number)s task again", "Yes, run %(number)s tasks again", "count"),
    begun=ngettext_lazy(
        "Adding %(number)s task in the background.", "Adding %(number)s tasks in the background.", "count"
    ),
    done=ngettext_lazy(
        "%(count)s task was added to the queue again.", "%(count)s tasks were added to the queue again.", "count"
    ),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it has not ended, its function is gone, or it cannot be added now.",
        "%(count)s were skipped because they have not ended, their functions are gone, or they cannot be added now.",
        "count",
    ),
    nothing=_(
        "Nothing was added: the task has not ended, its function is gone, its queue is full, or another task holds its "
        "unique key."
    ),
    logged=_("Added to the queue again."),
    warning=_(
        "A new task is made with the same arguments; this one stays as it is. Do so only if it is safe to run twice."
    ),
    # The place of a task in its workflow is taken.
    offered=lambda verb, task: task.state in verb.states and task.workflow_id is None,
)
DELETE = Change(
    name="delete",
    verb=VERBS["delete"],
    label=_("Delete"),
    question=ngettext_lazy("Delete %(number)s task?", "Delete %(number)s tasks?", "count"),
    yes=ngettext_lazy("Yes, delete %(number)s task", "Yes, delete %(number)s tasks", "count"),
    begun=ngettext_lazy(
        "Deleting %(number)s task in the background.", "Deleting %(number)s tasks in the background.", "count"
    ),
    done=ngettext_lazy("Deleted %(count)s task.", "Deleted %(count)s tasks.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it is running or was already deleted.",
        "%(count)s were skipped because they are running or were already deleted.",
        "count",
    ),
    nothing=_("Nothing was changed: the task is running or was already deleted."),
    logged=_("Deleted."),
    warning=_("Arguments, results and error history are removed. This cannot be undone."),
    log_flag=DELETION,
)

CHANGES = {
    change.name: change
    for change in (
        RETRY,
        RETRY_AT,
        RUN,
        CHANGE_TIME,
        MOVE,
        CHANGE_PRIORITY,
        STOP,
        CANCEL,
        PUT_BACK,
        DISMISS,
        AGAIN,
        DELETE,
    )
}
# What makes no sense for a task whose function no longer exists.
RUNS_IT = frozenset({"retry", "retry_at", "run", "again"})


def label_of(verb: str) -> str:
    """Return the word for a verb; one that only another version knows is its own."""
    return str(CHANGES[verb].label).rstrip("…") if verb in CHANGES else verb
