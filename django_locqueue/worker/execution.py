"""One task on one slot, while this worker has it."""

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from django_locqueue import compat
from django_locqueue.exceptions import StopTask
from django_locqueue.policies.outcome import Outcome
from django_locqueue.store import Claimed


class StopReason(StrEnum):
    SHUTDOWN = "the worker is shutting down"
    CANCELLED = "it was cancelled"
    LEASE_LOST = "it was taken from this worker"


@dataclass(slots=True, eq=False)
class Execution:
    """``outcome`` is set when the run has ended; ``recorded`` when the outcome was written by the run itself.

    Times are of the monotonic clock.
    """

    claimed: Claimed
    result: Any = None
    outcome: Outcome | None = None
    recorded: bool = False
    stop_reason: StopReason | None = None
    claimed_at: float = field(default_factory=time.monotonic)
    began: float | None = None  # None: it waits for a thread
    ended: float = 0.0

    @property
    def key(self) -> tuple[int, int]:
        return self.claimed.id, self.claimed.claim_no

    @property
    def seconds(self) -> float:
        """How long the function has run."""
        return 0.0 if self.began is None else (self.ended or time.monotonic()) - self.began


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext(compat.TaskContext):  # type: ignore[misc, type-arg]
    """What a task with ``takes_context=True`` gets: Django's context, the metadata, and whether to stop."""

    execution: Execution
    metadata: dict[str, Any]

    @property
    def should_stop(self) -> bool:
        """True from when the worker must leave, somebody cancelled the task, or another worker has it."""
        return self.execution.stop_reason is not None

    def check(self) -> None:
        """Raise :class:`StopTask` when the task should stop. Let it pass: the queue knows what to do then."""
        if self.execution.stop_reason is not None:
            raise StopTask(self.execution.stop_reason)
