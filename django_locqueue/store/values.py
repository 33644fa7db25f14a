"""The values that cross the store's border: what is enqueued, what became of it, and what a claim gives."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django_locqueue.models.task import State, Task, turn_of, worker_names

Key = tuple[int, int]  # a task's id and the number of its claim


class Call(NamedTuple):
    """One call to be stored. ``args_kwargs`` and ``metadata``: JSON text (``policies.payload``)."""

    task_path: str
    args_kwargs: str
    queue_name: str = "default"
    priority: int = 0
    run_after: datetime | None = None  # None: at once
    max_attempts: int = 1
    backend_alias: str = "default"
    metadata: str | None = None
    turn: str = State.READY  # its state when its time has come
    extra: tuple[tuple[str, Any], ...] = ()  # further columns; all calls that are stored together have the same


class Enqueued(NamedTuple):
    """What the database made of a :class:`Call`."""

    id: int
    state: str
    run_after: datetime
    enqueued_at: datetime


class Itemised(NamedTuple):
    """A call whose items are unique. ``trimmed``: gives its arguments with the items at these places of ``locks``."""

    call: Call
    locks: Sequence[str]
    trimmed: Callable[[Collection[int]], str]


class Placed(NamedTuple):
    """What became of a unique call: a task of its own, or the ``holder`` of its key, as its row is now."""

    id: int
    state: str
    run_after: datetime
    enqueued_at: datetime
    args_kwargs: str  # as they were stored; of a holder, see its row
    holder: Task | None = None


class Claimed(NamedTuple):
    """A task that this worker may run. ``(id, claim_no)`` is the fence of every write about it."""

    id: int
    claim_no: int
    attempt: int
    max_attempts: int
    crashes: int
    priority: int
    queue_name: str
    task_path: str
    backend_alias: str
    args_kwargs: str
    metadata: str | None
    limit_key: str | None
    terms: str | None  # JSON text
    workflow_id: int | None
    worker_ids: str  # with this worker's name as the last line
    run_after: datetime
    enqueued_at: datetime
    started_at: datetime
    last_attempted_at: datetime

    @property
    def key(self) -> Key:
        return (self.id, self.claim_no)

    @property
    def turn(self) -> State:
        """Its state when it waits again and its time has come."""
        return turn_of(self.limit_key)

    @property
    def name(self) -> str:
        return self.task_path.rpartition(".")[2]

    @property
    def worker_names(self) -> list[str]:
        return worker_names(self.worker_ids)

    @property
    def worker_name(self) -> str:
        return self.worker_names[-1]


class Chunk(NamedTuple):
    """Tasks of one definition that were claimed for one call of its function: one slot, many members."""

    members: tuple[Claimed, ...]

    @property
    def task_path(self) -> str:
        return self.members[0].task_path

    @property
    def queue_name(self) -> str:
        return self.members[0].queue_name

    @property
    def crashes(self) -> int:
        """Those of the member that has most."""
        return max(task.crashes for task in self.members)
