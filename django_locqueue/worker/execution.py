"""One task on one slot, while this worker has it."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar

from asgiref.sync import sync_to_async

from django_locqueue import compat
from django_locqueue.exceptions import Cancel, StopTask
from django_locqueue.models import State
from django_locqueue.policies import report
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from django_locqueue.policies.report import NOTHING, Report
from django_locqueue.policies.retry import sane
from django_locqueue.policies.task_log import Line
from django_locqueue.store import Claimed, Key, Store, get_store
from django_locqueue.worker.at_once import at_once
from django_locqueue.worker.interrupt import Interruptible


class StopReason(StrEnum):
    SHUTDOWN = "the worker is shutting down"
    CANCELLED = "it was cancelled"
    LEASE_LOST = "it was taken from this worker"
    GIVEN_UP = "its timeout is over"


class Execution:
    """``outcome`` is set when the run has ended; ``written``, the state of the row, when the outcome is stored.

    Times are of the monotonic clock. What most executions leave as it is stands in the class: one is made for each
    task.
    """

    is_chunk: ClassVar[bool] = False

    outcome: Outcome | None = None
    written: State | None = None
    refusals = 0  # writes of its outcome that a database refused which answered otherwise
    stop_reason: StopReason | None = None
    interrupt: Callable[["Execution"], object] | None = None  # told when it is asked to stop, by any thread
    has_returned_rate = False
    ended = 0.0
    ident = 0  # of the thread that it runs on
    timeout: float | None = None
    deadline: float | None = None  # set when the function begins, if it has a timeout
    give_up_at: float | None = None  # set when the watchdog has seen that the deadline is over
    interruptible: Interruptible | None = None  # the call of a function on a thread
    cancel_grace = 0.0  # seconds that it gets to stop by itself when it is cancelled
    interrupt_at: float | None = None  # set when it is cancelled
    lines: deque[Line] | None = None  # the last that it has logged
    report: Report | None = None  # the latest that it has said of itself, but for its log
    result: Any = None
    start_by: float | None = None  # under a rate: it must not begin later
    began: float | None = None  # None: it waits for a thread

    def __init__(self, claimed: Claimed, *, claimed_at: float | None = None, start_by: float | None = None) -> None:
        self.claimed = claimed
        self.key: Key = (claimed.id, claimed.claim_no)
        self.claimed_at = time.monotonic() if claimed_at is None else claimed_at
        if start_by is not None:
            self.start_by = start_by

    @property
    def members(self) -> Sequence["Execution"]:
        """The executions of single tasks that it is of: itself, unless it is a chunk's."""
        return (self,)

    def begin(self) -> None:
        """It begins on this thread."""
        self.began = time.monotonic()
        self.ident = threading.get_ident()

    def ask_to_stop(self, reason: StopReason, ids: Collection[int] | None = None) -> None:
        """Let the task know, if it is among those of the given ids. The first reason stays.

        But for a lease in doubt, which may be good again: a person can still cancel what goes on.
        """
        known = self.stop_reason
        is_news = known is None or (known is StopReason.LEASE_LOST and reason is StopReason.CANCELLED)
        if is_news and (ids is None or self.claimed.id in ids):
            self.stop_reason = reason
            if reason is StopReason.CANCELLED:
                self.interrupt_at = time.monotonic() + self.cancel_grace
            if interrupt := self.interrupt:
                interrupt(self)

    def settle(self, written: State | None) -> None:
        """Take the state that the outcome's write has left; None: it was refused.

        A task that was to be put back is cancelled instead if somebody has asked for it, and everybody hears that.
        """
        self.written = written
        outcome = self.outcome
        if written == State.CANCELLED and outcome is not None and outcome.kind is not Kind.CANCELLED:
            error = Cancel(str(StopReason.CANCELLED))
            self.outcome = Outcome(Kind.CANCELLED, error=ErrorReport.of(error), exception=error, by_request=True)

    @property
    def said(self) -> Report | None:
        """The latest that it has said of itself; None: nothing."""
        if self.lines is None:
            return self.report
        return (self.report or NOTHING)._replace(log=tuple(self.lines))

    @property
    def due(self) -> float:
        """When the watchdog has something to do about it."""
        return min(self.deadline or math.inf, self.interrupt_at or math.inf)

    @property
    def seconds(self) -> float:
        """How long the function has run."""
        return 0.0 if self.began is None else (self.ended or time.monotonic()) - self.began


class RunContext:
    """What a function is told of its run, and what it may say: be it of one task or of a chunk."""

    __slots__ = ()

    execution: Execution
    store: Store

    def pause_rate(self, seconds: float) -> None:
        """Let no task start under this one's rate for ``seconds``, as ``Retry(after=...)`` does; this one goes on.

        It holds from now on, also within a transaction and if that is rolled back; on SQLite it raises RuntimeError
        there. Raises ValueError for what is no time, or if the task has no ``rate_limit``.
        """
        wait = sane(seconds, otherwise=-1.0)
        if wait < 0:
            raise ValueError(f"pause_rate takes a number of seconds from 0, got {seconds!r}.")
        if not at_once(self.store, partial(self.store.pause_rate, self.execution.claimed, wait)):
            raise ValueError(f"{self.execution.claimed.name} has no rate to pause: give it @task(rate_limit=...).")

    def return_rate(self) -> bool:
        """Say that this run has not made the call that its rate counts, so that another task may start in its place.

        False: the rate has gone on without it already, or there is none; also from the second time on.
        """
        if self.execution.has_returned_rate:
            return False
        self.execution.has_returned_rate = True
        return at_once(self.store, partial(self.store.return_rate, self.execution.claimed))

    async def apause_rate(self, seconds: float) -> None:
        """:meth:`pause_rate` for async functions."""
        await sync_to_async(self.pause_rate)(seconds)

    async def areturn_rate(self) -> bool:
        """:meth:`return_rate` for async functions."""
        return await sync_to_async(self.return_rate)()

    @property
    def should_stop(self) -> bool:
        """True from when the worker must leave, somebody cancelled the task, or another worker has it."""
        return self.execution.stop_reason is not None

    @property
    def deadline(self) -> float | None:
        """When the timeout is over, by ``time.monotonic()``: the wall clock can be set. None without a timeout.

        ``asyncio.timeout_at`` takes it as it is; ``context.deadline - time.monotonic()`` is the time that is left.
        """
        return self.execution.deadline

    def check(self) -> None:
        """Raise :class:`StopTask` when the task should stop. Let it pass: the queue knows what to do then."""
        if self.execution.stop_reason is not None:
            raise StopTask(self.execution.stop_reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext(compat.TaskContext, RunContext):  # type: ignore[misc, type-arg]
    """What a task with ``takes_context=True`` gets: Django's context, the metadata, and whether to stop."""

    execution: Execution
    metadata: dict[str, Any]
    store: Store
    reported: Callable[[Execution], object]  # called for each word that the task says of itself

    def progress(self, fraction: float | None, message: str = "") -> None:
        """Say how far the task is: a fraction from 0 to 1, or None where nobody knows, and a few words.

        Costs no query: the latest word is stored about once a second, and with the outcome.
        """
        self.execution.report = report.with_progress(self.execution.report, fraction, message)
        self.reported(self.execution)

    def save_metadata(self) -> None:
        """Store ``metadata`` as it is now, so that the next try finds it, also if this one's worker dies.

        Like progress about once a second, and with the outcome. Raises TypeError or ValueError for what JSON cannot
        hold.
        """
        self.execution.report = report.with_metadata(self.execution.report, self.metadata)
        self.reported(self.execution)

    def results(self) -> Iterator[Any]:
        """Return what the tasks of the step before in its workflow returned, in the order of their calls.

        Read from the database as one goes on, so that a group may be large. In the place of a task that did not succeed
        there is a :class:`TaskFailed`; that is seen only where ``on_failure="run"``. Raises ValueError in a task that
        comes after no other, and :class:`ResultsGone` at the end if some have been deleted. In an async task:
        ``await sync_to_async(list)(context.results())``.
        """
        return get_store(self.execution.claimed.backend_alias).results_before(self.execution.claimed.id)
