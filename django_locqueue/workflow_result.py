"""The public view of a stored workflow, and what may be done to it."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from asgiref.sync import sync_to_async

from django_locqueue import compat, registry
from django_locqueue.models import Workflow
from django_locqueue.models.task import TaskQuerySet
from django_locqueue.store import Store

STATUSES: dict[str, Any] = {
    Workflow.State.RUNNING: compat.TaskResultStatus.RUNNING,
    Workflow.State.SUCCESSFUL: compat.TaskResultStatus.SUCCESSFUL,
    Workflow.State.FAILED: compat.TaskResultStatus.FAILED,
    Workflow.State.CANCELLED: compat.TaskResultStatus.FAILED,
}


@dataclass(slots=True, kw_only=True)
class WorkflowResult:
    """How far a workflow is, as of the last :meth:`refresh`.

    ``status``: Django's, as of a task; ``state``: ours, which tells failed and cancelled apart. ``total``,
    ``successful``, ``failed``, ``cancelled``: numbers of tasks. ``step``: the present one of ``steps``, from 1.
    """

    id: str
    name: str
    backend: str
    state: str
    step: int
    steps: int
    total: int
    successful: int
    failed: int
    cancelled: int
    enqueued_at: datetime
    finished_at: datetime | None

    @property
    def status(self) -> Any:
        return STATUSES[self.state]

    @property
    def is_finished(self) -> bool:
        return self.state != Workflow.State.RUNNING

    @property
    def ended(self) -> int:
        """How many tasks have ended."""
        return self.successful + self.failed + self.cancelled

    @property
    def progress(self) -> float:
        """The share of tasks that have ended, from 0 to 1."""
        return self.ended / self.total

    @property
    def tasks(self) -> TaskQuerySet:
        """The rows of its tasks, in order of their steps: ``result.tasks.failed()``."""
        rows: TaskQuerySet = self._store.tasks.filter(workflow_id=int(self.id))
        return rows.order_by("step", "id")

    def results(self) -> Iterator[Any]:
        """Return the return values of the last step, one for each of its calls and in their order.

        Read from the database as one goes on. Those of the step before are ``context.results()`` in a task.
        """
        return self._store.step_results(int(self.id), self.steps - 1)

    def refresh(self) -> None:
        """Read it anew. Raises ``WorkflowDoesNotExist`` when it has been pruned."""
        present = self._backend.get_workflow(self.id)
        for each in fields(self):
            setattr(self, each.name, getattr(present, each.name))

    async def arefresh(self) -> None:
        await sync_to_async(self.refresh, thread_sensitive=True)()

    def cancel(self, reason: str = "", *, by: str = "") -> bool:
        """Cancel what waits at once, ask what runs to stop, and begin nothing more. False: it had ended before.

        ``by``: who asks for it.
        """
        return bool(self._backend.cancel_workflow(self.id, reason, by=by))

    async def acancel(self, reason: str = "", *, by: str = "") -> bool:
        return await sync_to_async(self.cancel, thread_sensitive=True)(reason, by=by)

    @property
    def _backend(self) -> Any:
        return registry.backend_of(self.backend)

    @property
    def _store(self) -> Store:
        store: Store = self._backend.store
        return store


def workflow_result(row: Workflow) -> WorkflowResult:
    """Return the result of a row."""
    return WorkflowResult(
        id=str(row.pk),
        name=row.name,
        backend=row.backend_alias,
        state=row.state,
        step=row.step + 1,
        steps=row.steps,
        total=row.tasks_total,
        successful=row.successful,
        failed=row.failed,
        cancelled=row.cancelled,
        enqueued_at=row.enqueued_at,
        finished_at=row.finished_at,
    )
