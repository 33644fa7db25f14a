"""The part of a backend that stores workflows."""

import logging
import re
from collections.abc import Sequence

from django_locqueue import compat, endings
from django_locqueue.exceptions import WorkflowDoesNotExist
from django_locqueue.result import new_result
from django_locqueue.store import get_store
from django_locqueue.workflow import Step
from django_locqueue.workflow_result import WorkflowResult, workflow_result
from django_locqueue.workflow_steps import name_of, stored_step

_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


class WorkflowBackend:
    """To be mixed into the backend."""

    alias: str

    def enqueue_workflow(self, steps: Sequence[Step]) -> WorkflowResult:
        """Store all tasks of a workflow, or none, in the caller's transaction if there is one; return its result.

        Raises what :meth:`enqueue` raises, and ``InvalidTask`` for a definition that cannot be part of a workflow.
        """
        stored = [stored_step(self, step) for step in steps]
        row, enqueued = get_store(self.alias).enqueue_workflow(
            name_of([step for step, _ in stored]), self.alias, stored
        )
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

    def cancel_workflow(self, workflow_id: str | int, reason: str = "") -> bool:
        """Cancel what waits of a workflow, ask what runs to stop, and begin nothing more. False: it had ended."""
        return any(endings.cancel_workflow(get_store(self.alias), int(workflow_id), reason))
