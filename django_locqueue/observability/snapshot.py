"""How the queue is right now: the one answer that pages, commands, JSON, metrics and probes give."""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from django_locqueue import clock, conf
from django_locqueue.models import Queue, Worker
from django_locqueue.models.fields import queue_database
from django_locqueue.observability.history import Numbers, recent, shared_history
from django_locqueue.observability.migrations import missing_migrations
from django_locqueue.observability.stats import CAP
from django_locqueue.statement_limit import TooSlow, statement_limit
from django_locqueue.store import Store, store_for
from django_locqueue.store.census import Census

MOST_QUEUES = 200
MOST_WORKERS = 500
MOST_TASKS = 10  # that are listed of a worker
PERIOD = "15m"  # of which per minute and p95 are
OLDEST_SECONDS = 60.0  # that a reader is given, while another thread reads anew, without a word
WAIT_SECONDS = 10.0  # for another thread, where there is nothing older to show
REST_SECONDS = 15.0  # after a read that took too long
PAUSE = ("paused_at", "paused_by", "paused_until", "pause_reason")  # of a queue's row


class QueueState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    NO_WORKER = "no worker"  # none that lives serves it
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
    """One that has not said that it stopped. ``queues``: as in its row: ``mail``, ``all``, ``-news``."""

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
        return served(self.queues, queue_name)


@dataclass(frozen=True, slots=True)
class QueueNow:
    """Numbers of tasks are counted up to ``CAP + 1``, which means "more than ``CAP``"; see ``capped_text``."""

    name: str
    state: QueueState = QueueState.ACTIVE
    ready: int = 0
    oldest_ready_seconds: float | None = None  # that the longest-waiting of them has been ready
    limited: int = 0  # waiting for their turn under a limit
    scheduled: int = 0
    retrying: int = 0  # of the scheduled: failed before
    running: int = 0
    failed_24h: int = 0
    failed_hour: int = 0
    per_minute: float = 0.0  # tasks that ended, on average of the last 15 minutes
    wait_p95: float | None = None  # seconds, of what started in that time
    workers: int = 0  # live, that serve it
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
    """Of one database. ``at``: its time. With ``missing_migrations`` all else is empty: it is not read."""

    database: str
    at: datetime
    missing_migrations: Sequence[str] = ()
    queues: Sequence[QueueNow] = ()  # by name
    workers: Sequence[WorkerNow] = ()  # by name; the live and the lost
    next_due_seconds: float | None = None  # until the first scheduled task; below 0: it is late
    next_retry_seconds: float | None = None
    unknown: Sequence[UnknownTasks] = ()  # functions that no worker has found, and how many tasks name them
    late_seconds: float = 0.0  # how old it is, where it could not be read anew: that took too long
    clock_seconds: float = 0.0  # that the database's clock is ahead of this machine's
    is_scheduling: bool = True  # False: schedules are on, and no one enqueues what they ask for
    ready: int = 0
    oldest_ready_seconds: float | None = None
    limited: int = 0
    scheduled: int = 0
    retrying: int = 0
    running: int = 0
    failed: int = 0  # without those that were dismissed
    failed_24h: int = 0
    failed_hour: int = 0
    retried: int = 0  # all that are kept and were tried more than once
    per_minute: float = 0.0

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
        """Queues in which tasks could start, and no worker serves them."""
        return [queue for queue in self.queues if queue.state == QueueState.NO_WORKER and queue.ready + queue.limited]

    @property
    def paused(self) -> Sequence[QueueNow]:
        return [queue for queue in self.queues if queue.state == QueueState.PAUSED]


def snapshot(*, fresh: bool = False, database: str | None = None) -> Snapshot:
    """Return the numbers of one queue database, the first backend's if none is named.

    They are at most ``ADMIN["COUNTS_SECONDS"]`` old, and shared by all threads of the process; ``fresh`` reads anew.
    Older ones are what there is of a database that is too slow. Raises TooSlow, an error of the database, if there are
    none.
    """
    alias = database or queue_database(Queue)
    with _kept_lock:
        kept = _kept.setdefault(alias, _Kept())
    if not fresh and (found := kept.younger_than(conf.admin.COUNTS_SECONDS)) is not None:
        return found
    # One thread reads for all; meanwhile the others show what there was.
    if not kept.lock.acquire(timeout=WAIT_SECONDS if fresh or kept.value is None else 0):
        return kept.old()
    try:
        found = None if fresh else kept.younger_than(conf.admin.COUNTS_SECONDS)
        return found or kept.renewed(alias, fresh=fresh)
    finally:
        kept.lock.release()


def forget() -> None:
    """Let the next snapshot be read, in tests."""
    with _kept_lock:
        _kept.clear()
    shared_history.cache_clear()


def served(queues: Sequence[str], queue_name: str) -> bool:
    """Return whether a worker serves a queue. ``queues``: see :class:`WorkerNow`."""
    if f"-{queue_name}" in queues:
        return False
    return not queues or queues[0] == "all" or queue_name in queues


@dataclass(slots=True)
class _Kept:
    lock: threading.Lock = field(default_factory=threading.Lock)
    value: Snapshot | None = None
    read_at: float = 0.0  # by the monotonic clock
    rests_until: float = 0.0

    def younger_than(self, seconds: float) -> Snapshot | None:
        return self.value if time.monotonic() - self.read_at < seconds else None

    def renewed(self, alias: str, *, fresh: bool) -> Snapshot:
        if not fresh and self.value is not None and time.monotonic() < self.rests_until:
            return self.old()
        try:
            with statement_limit(alias, conf.admin.STATEMENT_SECONDS):
                self.value = _take(store_for(alias))
        except TooSlow:
            self.rests_until = time.monotonic() + REST_SECONDS
            return self.old()
        self.read_at = time.monotonic()
        return self.value

    def old(self) -> Snapshot:
        if self.value is None:
            raise TooSlow("The queue's numbers could not be read in time.")
        age = time.monotonic() - self.read_at
        return self.value if age < OLDEST_SECONDS else replace(self.value, late_seconds=age)


_kept: dict[str, _Kept] = {}
_kept_lock = threading.Lock()


def _take(store: Store) -> Snapshot:
    before = time.time()
    now = store.now()
    ahead = clock.timestamp(now) - clock.seconds_ahead() - (before + time.time()) / 2
    if missing := missing_migrations(store.alias):
        return Snapshot(store.alias, now, missing, clock_seconds=ahead)
    return _Taking(store, now).snapshot(clock_seconds=ahead)


class _Taking:
    """What one snapshot is made of. Nine statements with that of the time, however many queues and workers."""

    def __init__(self, store: Store, now: datetime) -> None:
        census = Census(store, CAP + 1)
        self.alias = store.alias
        self.now = now
        self.waiting = {each.queue_name: each for each in census.waiting()}
        self.scheduled = census.scheduled()
        self.running = census.running()
        self.failed = census.failed(now)
        rows = Queue.objects.using(store.alias).with_pause(now).order_by("name")[:MOST_QUEUES]
        self.rows: dict[str, Any] = {row.name: row for row in rows}
        self.names = self._names()
        self.counted = census.counted(self.names, now)
        self.history, self.minutes = recent(PERIOD, now=now, database=store.alias)
        self.workers = self._workers()

    def snapshot(self, clock_seconds: float) -> Snapshot:
        oldest = [each.oldest for each in self.waiting.values() if each.oldest is not None]
        retries = [each.next_retry_at for each in self.scheduled if each.next_retry_at is not None]
        is_live = any(worker.state != WorkerState.LOST for worker in self.workers)
        return Snapshot(
            database=self.alias,
            at=self.now,
            queues=[self._queue(name) for name in self.names],
            workers=self.workers,
            next_due_seconds=self._until(min((each.next_at for each in self.scheduled), default=None)),
            next_retry_seconds=self._until(min(retries, default=None)),
            unknown=self._unknown(),
            clock_seconds=clock_seconds,
            is_scheduling=not self.counted.late_schedules and (is_live or not self.counted.schedules),
            ready=self.counted.all_ready,
            oldest_ready_seconds=self._since(min(oldest, default=None)),
            limited=sum(self.counted.limited.values()),
            scheduled=sum(each.tasks for each in self.scheduled),
            retrying=sum(each.retrying for each in self.scheduled),
            running=len(self.running),
            failed=self.counted.failed,
            failed_24h=sum(each.of_day for each in self.failed),
            failed_hour=sum(each.of_hour for each in self.failed),
            retried=self.counted.retried,
            per_minute=sum(each.finished for each in self.history.values()) / self.minutes,
        )

    def _names(self) -> list[str]:
        """Return the queues that there are, those in which something waits before others if there are too many."""
        scheduled = [each.queue_name for each in self.scheduled]
        running = [each.queue_name for each in self.running]
        return sorted(list(dict.fromkeys([*self.waiting, *self.rows, *scheduled, *running]))[:MOST_QUEUES])

    def _queue(self, name: str) -> QueueNow:
        row = self.rows.get(name)
        serving = [each for each in self.workers if each.state != WorkerState.LOST and each.serves(name)]
        numbers = self.history.get(name, Numbers())
        scheduled = [each for each in self.scheduled if each.queue_name == name]
        failed = [each for each in self.failed if each.queue_name == name]
        paused: dict[str, Any] = {}
        if row is not None and row.is_paused:
            state = QueueState.PAUSED
            paused = {name: getattr(row, name) for name in PAUSE}
        elif not serving:
            state = QueueState.NO_WORKER
        elif all(worker.state == WorkerState.STOPPING for worker in serving):
            state = QueueState.DRAINING
        else:
            state = QueueState.ACTIVE
        return QueueNow(
            name=name,
            state=state,
            ready=self.counted.ready[name],
            oldest_ready_seconds=self._since(self.waiting[name].oldest) if name in self.waiting else None,
            limited=self.counted.limited[name],
            scheduled=sum(each.tasks for each in scheduled),
            retrying=sum(each.retrying for each in scheduled),
            running=sum(each.queue_name == name for each in self.running),
            failed_24h=sum(each.of_day for each in failed),
            failed_hour=sum(each.of_hour for each in failed),
            per_minute=numbers.finished / self.minutes,
            wait_p95=numbers.wait_p95,
            workers=len(serving),
            **paused,
        )

    def _workers(self) -> list[WorkerNow]:
        rows = Worker.objects.using(self.alias).filter(stopped_at=None).order_by("stopped_at", "-lease_until")
        running: dict[int | None, list[RunningTask]] = {}
        for each in self.running:
            task = RunningTask(each.id, each.path, each.queue_name, self._since(each.started_at) or 0.0)
            running.setdefault(each.worker_id, []).append(task)
        found = [self._worker(row, running.get(row.pk, [])) for row in rows[:MOST_WORKERS]]
        return sorted(found, key=lambda worker: (worker.name, worker.id))

    def _worker(self, row: Worker, running: list[RunningTask]) -> WorkerNow:
        queues = [name for name in row.queues.split(",") if name]
        return WorkerNow(
            id=row.pk,
            name=row.name,
            state=self._worker_state(row, queues, is_busy=bool(running)),
            slots=row.threads,
            busy=len(running),
            queues=queues,
            running=sorted(running, key=lambda task: -task.seconds)[:MOST_TASKS],
            started_at=row.started_at,
            heartbeat_seconds=self._since(row.heartbeat_at) or 0.0,
            succeeded=row.succeeded,
            failed=row.failed,
            memory_mb=row.memory_mb,
            version=row.version,
            code_version=row.code_version,
        )

    def _worker_state(self, row: Worker, queues: Sequence[str], *, is_busy: bool) -> WorkerState:
        if row.lease_until <= self.now:
            return WorkerState.LOST
        if row.stopping or row.stop_requested:
            return WorkerState.STOPPING
        if is_busy:
            return WorkerState.BUSY
        if row.heartbeat_at <= row.started_at:
            return WorkerState.STARTING
        own = [name for name in self.names if served(queues, name)]
        is_paused = bool(own) and all(name in self.rows and self.rows[name].is_paused for name in own)
        return WorkerState.PAUSED if is_paused else WorkerState.IDLE

    def _unknown(self) -> list[UnknownTasks]:
        counts: Counter[str] = Counter()
        for each in self.scheduled:
            if each.unknown_path is not None:
                counts[each.unknown_path] += each.tasks
        return [UnknownTasks(path, count) for path, count in counts.most_common()]

    def _since(self, moment: datetime | None) -> float | None:
        return None if moment is None else max(0.0, (self.now - moment).total_seconds())

    def _until(self, moment: datetime | None) -> float | None:
        return None if moment is None else (moment - self.now).total_seconds()
