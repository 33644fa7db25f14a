"""What a person may do to tasks. Each change asks for its own permission, is made by the store, and says what it did.

The store decides by the state that a task has at that moment; what a page showed may be old by then.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.contrib.admin.models import CHANGE, DELETION
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from django_locqueue import endings
from django_locqueue.admin import permissions
from django_locqueue.models import FINISHED, WAITING, State, Task


class Asker(NamedTuple):
    """Who asks for a change, and why."""

    by: str = ""
    reason: str = ""


class Changed(NamedTuple):
    """Ids: what was changed, and what is running and was only asked to stop."""

    done: list[int]
    asked: list[int] = []


@dataclass(frozen=True)
class Change:
    """One thing that can be done to a task. ``name`` is also its address, and with ``_task`` its permission, unless
    ``permitted_by`` names another's.
    """

    name: str
    label: Any
    apply: Callable[[Any, list[int], Asker], Changed]
    states: tuple[State, ...]  # in which it is offered
    done: Any  # sentences with a %(count)s; ngettext_lazy
    skipped: Any
    nothing: Any  # for a single task that was not changed
    logged: Any  # for its history
    question: Any = None  # asked before it is done; ngettext_lazy
    warning: Any = None
    log_flag: int = CHANGE
    permitted_by: str = ""
    asks_why: bool = False

    @property
    def codename(self) -> str:
        return f"{self.permitted_by or self.name}_task"

    @property
    def permission(self) -> str:
        return f"locqueue.{self.codename}"

    def is_offered(self, task: Task) -> bool:
        return task.state in self.states

    def label_for(self, task: Task) -> Any:
        """Return the word for the button: what the change means for this task."""
        if self.name == "cancel" and task.state == State.RUNNING:
            return _("Ask to stop")
        if task.is_retrying:
            return {"run": _("Retry now"), "cancel": _("Stop retrying")}.get(self.name, self.label)
        return self.label

    def sentences(self, changed: Changed, asked_for: int) -> str:
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


ASKED = ngettext_lazy("Asked %(count)s running task to stop.", "Asked %(count)s running tasks to stop.", "count")
ASKED_TOO = ngettext_lazy(
    "%(count)s was already running and was asked to stop.",
    "%(count)s were already running and were asked to stop.",
    "count",
)

RETRY = Change(
    name="retry",
    label=_("Retry"),
    apply=lambda store, ids, asker: Changed(store.requeue(ids)),
    states=(State.FAILED, State.CANCELLED),
    done=ngettext_lazy("Retried %(count)s task.", "Retried %(count)s tasks.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it has not failed, or another task holds its unique key.",
        "%(count)s were skipped because they have not failed, or other tasks hold their unique keys.",
        "count",
    ),
    nothing=_("Nothing was changed: the task has not failed, or no longer, or another task holds its unique key."),
    logged=_("Retried."),
)
RUN = Change(
    name="run",
    label=_("Run now"),
    apply=lambda store, ids, asker: Changed(store.run_now(ids)),
    states=(State.SCHEDULED,),
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
CANCEL = Change(
    name="cancel",
    label=_("Cancel"),
    apply=lambda store, ids, asker: Changed(*endings.cancel(store, ids, asker.reason, by=asker.by)),
    states=(*WAITING, State.RUNNING),
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
    asks_why=True,
)
DELETE = Change(
    name="delete",
    label=_("Delete"),
    apply=lambda store, ids, asker: Changed(store.delete(ids)),
    states=(*WAITING, *FINISHED),
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

AGAIN = Change(
    name="again",
    label=_("Run again"),
    apply=lambda store, ids, asker: Changed(store.requeue(ids, states=(State.SUCCESSFUL,))),
    states=(State.SUCCESSFUL,),
    done=ngettext_lazy("%(count)s task runs again.", "%(count)s tasks run again.", "count"),
    skipped=ngettext_lazy(
        "%(count)s was skipped because it has not succeeded, or no longer.",
        "%(count)s were skipped because they have not succeeded, or no longer.",
        "count",
    ),
    nothing=_("Nothing was changed: the task has not succeeded, or no longer."),
    logged=_("Run again."),
    question=ngettext_lazy(
        "Run %(count)s task again that has succeeded?", "Run %(count)s tasks again that have succeeded?", "count"
    ),
    warning=_("It runs with the same arguments, and its result is replaced. Do so only if it is safe to run twice."),
    permitted_by="retry",
)

CHANGES = {change.name: change for change in (RETRY, RUN, CANCEL, DELETE, AGAIN)}


def asker_of(request: Any) -> Asker:
    return Asker(request.user.get_username(), request.POST.get("reason", "").replace("\x00", "").strip()[:150])


def may(request: Any, change: Change) -> bool:
    """Whether the person has the permission of ``change``."""
    return permissions.may(request, change.permission)


def refusal(change: Change) -> str:
    permission = dict(Task._meta.permissions).get(change.codename, "Can delete task")
    return str(format_lazy(_("You may not do this. Ask for the permission “{permission}”."), permission=permission))
