"""The words of what a person may do to tasks. Each change is a verb (``verbs.py``), made by the store, and says what it
did.

The store decides by the state that a task has at that moment; what a page showed may be old by then.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from django.contrib.admin.models import CHANGE, DELETION
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from django_locqueue.admin import permissions
from django_locqueue.admin.change_forms import PriorityForm, QueueForm, ReasonForm, TimeForm
from django_locqueue.models import State, Task
from django_locqueue.models.activity import REASON_LENGTH
from django_locqueue.verbs import VERBS, Applied, Verb


class Asker(NamedTuple):
    """Who asks for a change, and why."""

    by: str = ""
    reason: str = ""


def _in_its_states(verb: Verb, task: Task) -> bool:
    return task.state in verb.states


@dataclass(frozen=True)
class Change:
    """One thing that can be done to a task. ``name`` is also its address. ``verb``: what is done.

    ``form``: what is asked before, besides the reason; without ``question`` nothing is asked. ``offered``: whether it
    makes sense for a task as a page shows it.
    """

    name: str
    verb: Verb
    label: Any
    done: Any  # sentences with a %(count)s; ngettext_lazy
    skipped: Any
    nothing: Any  # for a single task that was not changed
    logged: Any  # for its history
    question: Any = None  # asked before it is done; ngettext_lazy
    warning: Any = ""
    form: type[ReasonForm] = ReasonForm
    offered: Callable[[Verb, Task], bool] = _in_its_states
    log_flag: int = CHANGE

    @property
    def codename(self) -> str:
        return self.verb.codename

    @property
    def permission(self) -> str:
        return self.verb.permission

    @property
    def confirm_label(self) -> str:
        """The word for the button that sends what was asked for."""
        return str(_("Yes, I’m sure") if self.form is ReasonForm else self.label).rstrip("…")

    def apply(
        self, store: Any, ids: Sequence[int], asker: Asker, options: Mapping[str, Any] = MappingProxyType({})
    ) -> Applied:
        return self.verb(store, ids, by=asker.by, reason=asker.reason, options=options)

    def is_offered(self, task: Task) -> bool:
        return self.offered(self.verb, task)

    def label_for(self, task: Task) -> Any:
        """Return the word for the button: what the change means for this task."""
        if self.name == "cancel" and task.state == State.RUNNING:
            return _("Ask to stop")
        if self.name == "run" and task.is_retrying:
            return _("Retry now")
        return self.label

    def sentences(self, changed: Applied, asked_for: int) -> str:
        """Say how many tasks were changed and how many were not."""
        skipped = asked_for - len(changed.done) - len(changed.asked)
        said = []
        if changed.done:
            said.append(self.done % {"count": len(changed.done)})
        if changed.asked:
            sentence = ASKED_TOO if changed.done else ASKED
            said.append(sentence % {"count": len(changed.asked)})
        if skipped:
            said.append(self.skipped % {"count": skipped})
        return " ".join(str(sentence) for sentence in said)

    def why_not(self, state: str | None) -> Any:
        """Return why a single task was not changed that is in ``state`` now; None: it is gone."""
        if state == State.RUNNING and State.RUNNING not in self.verb.states:
            return _("Nothing was changed: the task started while you were looking.")
        return self.nothing


ASKED = ngettext_lazy("Asked %(count)s running task to stop.", "Asked %(count)s running tasks to stop.", "count")
ASKED_TOO = ngettext_lazy(
    "%(count)s was already running and was asked to stop.",
    "%(count)s were already running and were asked to stop.",
    "count",
)
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
    done=ngettext_lazy("Retried %(count)s task.", "Retried %(count)s tasks.", "count"),
    skipped=NOT_FAILED,
    nothing=HAS_NOT_FAILED,
    logged=_("Retried."),
)
RETRY_AT = Change(
    name="retry_at",
    verb=VERBS["retry"],
    label=_("Retry at a time…"),
    done=ngettext_lazy(
        "%(count)s task will be retried at that time.", "%(count)s tasks will be retried at that time.", "count"
    ),
    skipped=NOT_FAILED,
    nothing=HAS_NOT_FAILED,
    logged=_("To be retried at a time."),
    question=ngettext_lazy(
        "When should %(count)s task be retried?", "When should %(count)s tasks be retried?", "count"
    ),
    warning=SAME_ARGUMENTS,
    form=TimeForm,
)
RUN = Change(
    name="run",
    verb=VERBS["run"],
    label=_("Run now"),
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
)
CHANGE_TIME = Change(
    name="change_time",
    verb=VERBS["change_time"],
    label=_("Change time…"),
    done=ngettext_lazy("%(count)s task has another time.", "%(count)s tasks have another time.", "count"),
    skipped=NOT_WAITING,
    nothing=NO_LONGER_WAITS,
    logged=_("Got another time."),
    question=ngettext_lazy("When should %(count)s task run?", "When should %(count)s tasks run?", "count"),
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
    done=ngettext_lazy("Moved %(count)s task.", "Moved %(count)s tasks.", "count"),
    skipped=NOT_WAITING,
    nothing=NO_LONGER_WAITS,
    logged=_("Moved to another queue."),
    question=ngettext_lazy("Move %(count)s task to which queue?", "Move %(count)s tasks to which queue?", "count"),
    form=QueueForm,
)
CHANGE_PRIORITY = Change(
    name="change_priority",
    verb=VERBS["change_priority"],
    label=_("Change priority…"),
    done=ngettext_lazy("%(count)s task has another priority.", "%(count)s tasks have another priority.", "count"),
    skipped=NOT_WAITING,
    nothing=NO_LONGER_WAITS,
    logged=_("Got another priority."),
    question=ngettext_lazy("Which priority for %(count)s task?", "Which priority for %(count)s tasks?", "count"),
    form=PriorityForm,
)
STOP = Change(
    name="stop",
    verb=VERBS["stop"],
    label=_("Stop retrying"),
    done=ngettext_lazy("%(count)s task will not be retried.", "%(count)s tasks will not be retried.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it does not wait to be retried.",
        "%(count)s were skipped because they do not wait to be retried.",
        "count",
    ),
    nothing=_("Nothing was changed: the task does not wait to be retried."),
    logged=_("Retrying was stopped."),
    question=ngettext_lazy("Stop retrying %(count)s task?", "Stop retrying %(count)s tasks?", "count"),
    warning=_("A task that is not retried ends as cancelled. You can still retry it by hand."),
    offered=lambda verb, task: task.is_retrying,
)
CANCEL = Change(
    name="cancel",
    verb=VERBS["cancel"],
    label=_("Cancel"),
    done=ngettext_lazy("Cancelled %(count)s task.", "Cancelled %(count)s tasks.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it has already finished.",
        "%(count)s were skipped because they have already finished.",
        "count",
    ),
    nothing=_("Nothing was changed: the task has already finished."),
    logged=_("Cancelled."),
    question=ngettext_lazy("Cancel %(count)s task?", "Cancel %(count)s tasks?", "count"),
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
    done=ngettext_lazy("Put %(count)s task back in the queue.", "Put %(count)s tasks back in the queue.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it does not run, or its worker answers.",
        "%(count)s were skipped because they do not run, or their workers answer.",
        "count",
    ),
    nothing=_("Nothing was changed: the task does not run, or its worker answers."),
    logged=_("Put back in the queue."),
    question=ngettext_lazy("Put %(count)s task back in the queue?", "Put %(count)s tasks back in the queue?", "count"),
    warning=_("Only tasks whose worker does not answer are put back. They may run twice."),
    offered=lambda verb, task: task.state in verb.states and getattr(task, "worker_is_lost", True),
)
DISMISS = Change(
    name="dismiss",
    verb=VERBS["dismiss"],
    label=_("Dismiss"),
    done=ngettext_lazy("Dismissed %(count)s task.", "Dismissed %(count)s tasks.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it has not failed, or was already dismissed.",
        "%(count)s were skipped because they have not failed, or were already dismissed.",
        "count",
    ),
    nothing=_("Nothing was changed: the task has not failed, or was already dismissed."),
    logged=_("Dismissed."),
    offered=lambda verb, task: task.state in verb.states and not task.dismissed,
)
AGAIN = Change(
    name="again",
    verb=VERBS["again"],
    label=_("Run again as a new task"),
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
    question=ngettext_lazy("Run %(count)s task again?", "Run %(count)s tasks again?", "count"),
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
    done=ngettext_lazy("Deleted %(count)s task.", "Deleted %(count)s tasks.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it is running or was already deleted.",
        "%(count)s were skipped because they are running or were already deleted.",
        "count",
    ),
    nothing=_("Nothing was changed: the task is running or was already deleted."),
    logged=_("Deleted."),
    question=ngettext_lazy("Delete %(count)s task?", "Delete %(count)s tasks?", "count"),
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

MAY_NOT = {
    "retry_task": _("You may not retry tasks. Ask for the permission “%(permission)s”."),
    "run_task": _("You may not change when and where tasks run. Ask for the permission “%(permission)s”."),
    "cancel_task": _("You may not cancel tasks. Ask for the permission “%(permission)s”."),
    "delete_task": _("You may not delete tasks. Ask for the permission “%(permission)s”."),
    "enqueue_task": _("You may not add tasks. Ask for the permission “%(permission)s”."),
    "view_payload": _("You may not see hidden values. Ask for the permission “%(permission)s”."),
}
PERMISSIONS = {**dict(Task._meta.permissions), "delete_task": _("Can delete tasks")}


def asker_of(request: Any) -> Asker:
    reason = request.POST.get("reason", "").replace("\x00", "").strip()
    return Asker(request.user.get_username(), reason[:REASON_LENGTH])


def may(request: Any, change: Change) -> bool:
    """Whether the person has the permission of ``change``."""
    return permissions.may(request, change.permission)


def refusal(codename: str) -> str:
    return str(MAY_NOT[codename]) % {"permission": PERMISSIONS[codename]}
