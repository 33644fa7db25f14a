"""The part of a backend that stores workflows."""

import logging
import re
from collections.abc import Sequence
from typing import Any

from django_locqueue import compat, endings
from django_locqueue.exceptions import WorkflowDoesNotExist
from django_locqueue.hooks import Dropped
from django_locqueue.origin import current_origin
from django_locqueue.pending_limit import admit, give_back
from django_locqueue.result import new_result
from django_locqueue.store import get_store
from django_locqueue.workflow import Step, TaskCall
from django_locqueue.workflow_result import WorkflowResult, workflow_result
from django_locqueue.workflow_steps import name_of, stored_step

_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


class WorkflowBackend:
    """To be mixed into the backend."""

    alias: str
    pending_limits: Any

    def enqueue_workflow(self, steps: Sequence[Step]) -> WorkflowResult:
        """Store all tasks of a workflow, or none, in the caller's transaction if there is one; return its result.

        Hooks are asked about each call; what they drop is left out. Raises what :meth:`enqueue` raises, and
        ``InvalidTask`` for a definition that cannot be part of a workflow, or where nothing is left of it.
        """
        steps = [kept for step in steps if (kept := _asked(step)).calls]
        if not steps:
            raise compat.InvalidTask("Hooks have dropped every call of the workflow: there is nothing to store.")
        store = get_store(self.alias)
        stored = [stored_step(self, step) for step in steps]
        if self.pending_limits:  # of later steps, as of what is delayed, each is counted when it waits
            admit(stored[0][1], self.pending_limits, store.count_pending)
        try:
            row, enqueued = store.enqueue_workflow(name_of([step for step, _ in stored]), self.alias, stored)
        except BaseException:
            give_back(stored[0][1], self.pending_limits)
            raise
        if (origin := current_origin.get()) is not None:
            origin.enqueued(each.id for each in enqueued)
        if compat.is_heard(compat.task_enqueued, logging.DEBUG):
            calls = (call for step in steps for call in step.calls)
            for call, each in zip(calls, enqueued, strict=True):
                result = new_result(call.definition, each.id, each.enqueued_at, call.args, call.kwargs)
                compat.task_enqueued.send(type(self), task_result=result)
        return workflow_result(row)

    def get_workflow(self, workflow_id: str | int) -> WorkflowResult:
        """Return the result of a workflow. Raises ``WorkflowDoesNotExist``, also for a malformed id."""
        text = str(workflow_id)
        row = get_store(self.alias).workflows.filter(pk=int(text)).first() if _ID.fullmatch(text) else None
        if row is None:
            raise WorkflowDoesNotExist(f"There is no workflow {text[:40]!r}. Ended ones are pruned, see RETENTION.")
        return workflow_result(row)

    def cancel_workflow(self, workflow_id: str | int, reason: str = "", *, by: str = "") -> bool:
        """Cancel what waits of a workflow, ask what runs to stop, and begin nothing more. False: it had ended.

        ``by``: who asks for it. It stands with the reason in what the tasks end with.
        """
        return any(endings.cancel_workflow(get_store(self.alias), int(workflow_id), reason, by=by))


def _asked(step: Step) -> Step:
    """Return the step as the hooks of its calls' backends want it stored."""
    calls: list[TaskCall] = []
    for call in step.calls:
        hooks = getattr(call.definition.get_backend(), "hooks", None)
        if hooks is None or not hooks.before_enqueue:
            calls.append(call)
        elif not isinstance(asked := hooks.ask(call.definition, call.args, call.kwargs), Dropped):
            definition, args, kwargs = asked
            calls.append(TaskCall(definition, tuple(args), kwargs))
    return Step(tuple(calls), step.on_failure)
