"""One task on one slot, while this worker has it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django_locqueue import compat
from django_locqueue.exceptions import Cancel, StopTask
from django_locqueue.models import State
from django_locqueue.policies import report
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from django_locqueue.policies.report import Report
from django_locqueue.store import Claimed, Key
from django_locqueue.worker.interrupt import Interruptible


class StopReason(StrEnum):
    SHUTDOWN = "the worker is shutting down"
    CANCELLED = "it was cancelled"
    LEASE_LOST = "it was taken from this worker"
    GIVEN_UP = "its timeout is over"


@dataclass(slots=True, eq=False)
class Execution:
    """``outcome`` is set when the run has ended; ``written``, the state of the row, when the outcome is stored.

    Times are of the monotonic clock.
    """

    claimed: Claimed
    result: Any = None
    outcome: Outcome | None = None
    written: State | None = None
    refusals: int = 0  # writes of its outcome that a database refused which answered otherwise
    stop_reason: StopReason | None = None
    interrupt: Callable[["Execution"], object] | None = None  # told when it is asked to stop, by any thread
    claimed_at: float = field(default_factory=time.monotonic)
    began: float | None = None  # None: it waits for a thread
    ended: float = 0.0
    ident: int = 0  # of the thread that it runs on
    timeout: float | None = None
    deadline: float | None = None  # set when the function begins, if it has a timeout
    interruptible: Interruptible | None = None  # the call of a function on a thread
    cancel_grace: float = 0.0  # seconds that it gets to stop by itself when it is cancelled
    interrupt_at: float | None = None  # set when it is cancelled
    report: Report | None = None  # the latest that it has said of itself
    key: Key = field(init=False)

    def __post_init__(self) -> None:
        self.key = self.claimed.key

    def ask_to_stop(self, reason: StopReason) -> None:
        """Let the task know. The first reason stays."""
        if self.stop_reason is None:
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
    def due(self) -> float:
        """When the watchdog has something to do about it."""
        return min(self.deadline or math.inf, self.interrupt_at or math.inf)

    @property
    def seconds(self) -> float:
        """How long the function has run."""
        return 0.0 if self.began is None else (self.ended or time.monotonic()) - self.began


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext(compat.TaskContext):  # type: ignore[misc, type-arg]
    """What a task with ``takes_context=True`` gets: Django's context, the metadata, and whether to stop."""

    execution: Execution
    metadata: dict[str, Any]
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
