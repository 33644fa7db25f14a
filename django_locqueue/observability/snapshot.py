"""How the queue is right now: the one answer that pages, commands, JSON, metrics and probes give."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from django_locqueue.observability.stats import CAP  # noqa: F401 - so it is read with it


class QueueState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    NO_WORKER = "no worker"  # it has tasks to be started, and none serves it
    DRAINING = "draining"  # the workers that serve it are all stopping


class WorkerState(StrEnum):
    STARTING = "starting"
    IDLE = "idle"
    BUSY = "busy"
    PAUSED = "paused"  # and so are all queues that it serves
    STOPPING = "stopping"
    LOST = "lost"  # silent for longer than its lease


@dataclass(frozen=True, slots=True)
class RunningTask:
    id: int
    path: str
    queue_name: str
    seconds: float

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class WorkerNow:
    """One that has not said that it stopped. ``queues``: those it serves, none for all."""

    id: int
    name: str
    state: WorkerState
    slots: int
    busy: int
    queues: Sequence[str]
    running: Sequence[RunningTask]  # the longest-running first, at most `MOST_TASKS`
    started_at: datetime
    heartbeat_seconds: float  # since its last sign of life
    succeeded: int
    failed: int
    memory_mb: int | None
    version: str
    code_version: str

    def serves(self, queue_name: str) -> bool:
        return not self.queues or queue_name in self.queues


@dataclass(frozen=True, slots=True)
class QueueNow:
    """Numbers of tasks are counted up to ``CAP + 1``, which means "more than ``CAP``"; see ``capped_text``."""

    name: str
    state: QueueState
    ready: int
    oldest_ready_seconds: float | None  # that the longest-waiting of them has been ready
    limited: int  # waiting for their turn under a limit
    scheduled: int
    retrying: int  # of the scheduled: failed before
    running: int
    failed_24h: int
    per_minute: float | None  # ended successfully, on average of the last 15 minutes; None: nothing is known
    wait_p95: float | None  # seconds, of what started in that time
    workers: int  # live, that serve it
    paused_at: datetime | None = None
    paused_by: str = ""
    paused_until: datetime | None = None
    pause_reason: str = ""


@dataclass(frozen=True, slots=True)
class UnknownTasks:
    path: str
    count: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Of one database. ``at``: its time. With ``missing_migrations`` all else may be empty: nothing could be read."""

    database: str
    at: datetime
    queues: Sequence[QueueNow]  # by name
    workers: Sequence[WorkerNow]  # by name; the live and the lost
    next_due_seconds: float | None  # until the first scheduled task; below 0: it is late
    next_retry_seconds: float | None
    unknown: Sequence[UnknownTasks]  # functions that no worker has found, and how many tasks name them
    clock_seconds: float  # that the database's clock is ahead of this machine's
    is_scheduling: bool  # False: schedules are on, and no one enqueues what they ask for
    missing_migrations: Sequence[str]
    ready: int
    oldest_ready_seconds: float | None
    limited: int
    scheduled: int
    retrying: int
    running: int
    failed: int  # all that are kept and were not dismissed
    failed_24h: int
    failed_hour: int
    retried: int  # all that are kept and were tried more than once
    per_minute: float | None

    @property
    def pending(self) -> int:
        return self.ready + self.limited + self.scheduled

    @property
    def live_workers(self) -> Sequence[WorkerNow]:
        return [worker for worker in self.workers if worker.state != WorkerState.LOST]

    @property
    def slots(self) -> int:
        return sum(worker.slots for worker in self.live_workers)

    @property
    def busy(self) -> int:
        return sum(worker.busy for worker in self.live_workers)

    @property
    def unserved(self) -> Sequence[QueueNow]:
        return [queue for queue in self.queues if queue.state == QueueState.NO_WORKER]

    @property
    def paused(self) -> Sequence[QueueNow]:
        return [queue for queue in self.queues if queue.state == QueueState.PAUSED]


def snapshot(*, fresh: bool = False, database: str | None = None) -> Snapshot:
    """Return the numbers of one queue database, the first backend's if none is named.

    They are at most ``ADMIN["COUNTS_SECONDS"]`` old, and shared by all threads of the process; ``fresh`` reads anew.
    """
    raise NotImplementedError
