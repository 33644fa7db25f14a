"""What a person may do to tasks: a verb (``verbs.py``) with words and a form, and who may ask for it.

The store decides by the state that a task has at that moment; what a page showed may be old by then.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from django.contrib.admin.models import CHANGE
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

from django_locqueue.admin import permissions
from django_locqueue.admin.change_forms import ReasonForm
from django_locqueue.models import State, Task
from django_locqueue.models.activity import REASON_LENGTH
from django_locqueue.verbs import Applied, Verb


class Asker(NamedTuple):
    """Who asks for a change, and why."""

    by: str = ""
    reason: str = ""


def _in_its_states(verb: Verb, task: Task) -> bool:
    return task.state in verb.states


@dataclass(frozen=True)
class Change:
    """One thing that can be done to a task. ``name`` is also its address. ``verb``: what is done.

    ``form``: what is asked before, besides the reason. ``asks``: also before single tasks; before all that match it is
    asked in any case. ``offered``: whether it makes sense for a task as a page shows it.
    """

    name: str
    verb: Verb
    label: Any
    question: Any  # sentences with a %(number)s, whose plural is that of ``count``; ngettext_lazy
    yes: Any
    begun: Any  # for all that match
    done: Any  # sentences with a %(count)s; ngettext_lazy
    skipped: Any
    nothing: Any  # for a single task that was not changed
    logged: Any  # for its history
    warning: Any = ""
    asks: bool = True
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
    def is_dangerous(self) -> bool:
        """Whether it cannot be taken back."""
        return self.name in ("delete", "cancel")

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
