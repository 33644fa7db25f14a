"""Running what waits, on the thread of the test and within its transaction."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connections, transaction
from django.test import TestCase

from django_locqueue import clock, endings, registry
from django_locqueue.backend import LocQueueBackend
from django_locqueue.exceptions import TaskTimeout
from django_locqueue.policies import payload
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.scheduler.scheduler import Scheduler
from django_locqueue.store import Chunk, Claimed
from django_locqueue.store.serve import Owner
from django_locqueue.testing.travel import travel
from django_locqueue.worker.call import Way
from django_locqueue.worker.chunk_execution import ChunkExecution
from django_locqueue.worker.chunk_executor import ChunkExecutor
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.log_keeper import kept
from django_locqueue.worker.telling import tell

MOST_RUNS = 10_000  # without a limit: then something enqueues itself for ever
LEASE_SECONDS = 3600.0
NAME = "run_tasks"
TICK_SECONDS = 0.001  # of SQLite's clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One try that ``run_tasks`` has made. ``outcome``: successful, failed, retried, snoozed, cancelled or released.

    ``id``: of the task, as its result has it. ``error``: the first line of what the function raised, empty if it
    returned. ``exception``: the same as it was raised, where the task has ended with it.
    """

    id: str
    task_path: str
    args: list[Any]
    kwargs: dict[str, Any]
    attempt: int
    outcome: str
    error: str
    exception: BaseException | None = field(repr=False)


def run_tasks(
    queue: str | Iterable[str] | None = None,
    limit: int | None = None,
    *,
    until_empty: bool = True,
    delayed: bool = False,
    check: bool = False,
    schedules: bool = False,
    backend: str | None = None,
) -> list[Run]:
    """Run the tasks that are ready, one at a time, as a worker would; return what was run, in order.

    It happens on this thread and on its connections, so within the transaction of a ``TestCase``, with the executor
    that workers use: outcomes, attempts, retries, signals and hooks are the real ones.

    ``queue``: a name or several; None: all. ``limit``: at most so many runs. ``until_empty=False``: what is ready now,
    and nothing that these tasks enqueue. ``delayed=True``: also what waits for its time, a retry or a snooze among
    them; the queue's clock is put forward from one to the next, and is back afterwards. Without it they stay: a retry
    is due when its backoff is over, see ``travel``. ``check=True``: raise the exception of the first task that fails
    for good. ``schedules=True``: enqueue the slots that are due before. ``backend``: its alias, if the project has
    several databases.
    """
    drain = _Drain(_backend(backend), queue)
    with ExitStack() as travels:
        if schedules:
            drain.scheduler = Scheduler(drain.store)
        return drain.run(limit, until_empty=until_empty, travels=travels if delayed else None, check=check)


arun_tasks = sync_to_async(run_tasks)


class _Drain:
    def __init__(self, backend: LocQueueBackend, queue: str | Iterable[str] | None) -> None:
        self.store = backend.store
        self.interrupter = Interrupter()
        self.executor = Executor(backend, watch=self.interrupter, owns_connections=False)
        self.chunk_executor = ChunkExecutor(self.executor)
        self._limited_in: float | None = None  # seconds until a limit may let the next task go
        self.queues = () if queue is None else (queue,) if isinstance(queue, str) else tuple(queue)

        self.scheduler: Scheduler | None = None  # what enqueues the slots that are due; None: nobody

    @kept()
    def run(self, limit: int | None, *, until_empty: bool, travels: ExitStack | None, check: bool) -> list[Run]:
        worker = self.store.register_worker(NAME, lease=LEASE_SECONDS)
        owner = Owner(worker.pk, worker.name)
        runs: list[Run] = []
        most = MOST_RUNS if limit is None else limit
        try:
            while len(runs) < most:
                claimed = self._claim(owner, 1 if until_empty else most)
                if not claimed and travels is not None and self._travel_to_next(travels):
                    continue
                for execution in claimed:
                    runs += self._run(execution)
                    if check and (error := _failure(runs)) is not None:
                        raise error
                if not claimed or not until_empty:
                    return runs
        finally:
            if left := self.store.held(worker.pk):
                endings.release(self.store, left)
            self.store.stop_worker(worker.pk)
        if limit is None:
            raise RuntimeError(
                f"The queue is not empty after {MOST_RUNS:,} runs; a task that enqueues itself, or always snoozes? "
                "Give run_tasks() a limit."
            )
        return runs

    def _claim(self, owner: Owner, most: int) -> list[Execution]:
        if self.scheduler is not None:
            self.scheduler.run_once()
        while self.store.promote():
            pass
        claimed: list[Claimed | Chunk] = [*self.store.claim(owner, most, queues=self.queues)]
        self._limited_in = None
        after = None
        while len(claimed) < most:  # line by line, until the last
            limited = self.store.claim_limited(owner, most - len(claimed), queues=self.queues, after=after)
            claimed += [*limited.tasks, *limited.chunks]
            waits = [seconds for seconds in (self._limited_in, limited.next_seconds) if seconds is not None]
            self._limited_in, after = min(waits, default=None), limited.last
            if after is None:
                break
        return [self._execution(task) for task in claimed]

    def _execution(self, task: Claimed | Chunk) -> Execution:
        if isinstance(task, Claimed):
            if not (self.executor.way_of(task.task_path) or Way()).in_chunks:
                return Execution(task)
            task = Chunk((task,))
        return ChunkExecution.of(task)

    def _travel_to_next(self, travels: ExitStack) -> bool:
        """Go to when the next task that waits for its time is due, or its limit may let it go. False: there is none."""
        # What is put off to the end of all years has no time that can be gone to: it is read as a little earlier.
        waiting = self.store.tasks.scheduled().filter(run_after__lt=clock.storable(clock.LATEST))
        if self.queues:
            waiting = waiting.filter(queue_name__in=self.queues)
        due = waiting.order_by("run_after").values_list("run_after", flat=True).first()
        waits = [] if due is None else [(due - self.store.now()).total_seconds()]
        if self._limited_in is not None:
            waits.append(self._limited_in)
        if waits:
            travels.enter_context(travel(max(0.0, min(waits)) + TICK_SECONDS))
        return bool(waits)

    def _run(self, execution: Execution) -> list[Run]:
        execution.begin()
        with _kept_usable():
            (self.chunk_executor if execution.is_chunk else self.executor).run(execution)
        self.interrupter.cancel()
        members = execution.members
        unwritten = [each for each in members if each.written is None]
        ended = [(each.claimed, each.outcome or Outcome(Kind.RELEASED)) for each in unwritten]
        written = self.store.ack(ended)
        for each in unwritten:
            each.settle(written.get(each.key))
        return [self._told(each) for each in members]

    def _told(self, execution: Execution) -> Run:
        claimed, ended = execution.claimed, execution.outcome or Outcome(Kind.RELEASED)
        tell(self.executor, execution)
        args, kwargs = payload.load_call(claimed.args_kwargs)
        return Run(
            id=str(claimed.id),
            task_path=claimed.task_path,
            args=args,
            kwargs=kwargs,
            attempt=claimed.attempt,
            outcome=ended.kind.value,
            error="" if ended.error is None else f"{ended.error.class_path}: {ended.error.message}",
            exception=ended.exception,
        )


def _failure(runs: list[Run]) -> BaseException | None:
    return next((run.exception for run in runs if run.outcome == Kind.FAILED and run.exception is not None), None)


def _backend(alias: str | None) -> LocQueueBackend:
    backends = registry.our_backends()
    chosen: LocQueueBackend | None = registry.our_backend(alias) if alias is not None else next(iter(backends), None)
    if chosen is None:
        raise RuntimeError(
            "run_tasks() needs a backend of django-locqueue in TASKS"
            + (f" by the name of {alias!r}" if alias is not None else "")
            + ". With the immediate and the dummy backend nothing waits to be run."
        )
    return chosen


@contextmanager
def _kept_usable() -> Iterator[None]:
    """Let a task do to the connections what it may in a worker, where it has no transaction around it.

    In a ``TestCase`` it has one: what a database error would spoil is rolled back to here, and what waits for the
    commit is done when the run has ended.
    """
    with ExitStack() as stack:
        for connection in connections.all(initialized_only=True):
            if connection.in_atomic_block:
                stack.enter_context(TestCase.captureOnCommitCallbacks(using=connection.alias, execute=True))
                stack.enter_context(_savepoint(connection))
        yield


@contextmanager
def _savepoint(connection: Any) -> Iterator[None]:
    atomic = transaction.atomic(using=connection.alias)
    atomic._from_testcase = True  # so that a task may open a durable block
    with atomic:
        yield
        if connection.vendor == "postgresql" and connection.connection.info.transaction_status == _IN_ERROR:
            transaction.set_rollback(True, using=connection.alias)


_IN_ERROR = 3  # libpq's PQTRANS_INERROR: a statement has failed


class Interrupter:
    """Stands in for a worker's watchdog. Called with an execution whose function has a deadline; interrupts it then.

    ``cancel()``: it has ended.
    """

    def __init__(self) -> None:
        self._timers: list[threading.Timer] = []

    def __call__(self, execution: Execution) -> None:
        if execution.timeout is None:  # it is asked to stop, and that is not ours to enforce
            return
        timer = threading.Timer(execution.timeout, _interrupt, [execution])
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def cancel(self) -> None:
        while self._timers:
            timer = self._timers.pop()
            timer.cancel()
            timer.join()


def _interrupt(execution: Execution) -> None:
    if execution.interruptible is not None:  # an async function is cancelled by its own loop
        execution.interruptible.interrupt(TaskTimeout)
