"""Everything the library raises, and what a task raises to steer its own fate."""

from collections.abc import Mapping
from typing import Any


class LocQueueError(Exception):
    """Base of every error that comes from django-locqueue itself."""


class LeaseLost(LocQueueError):
    """The task was taken from this worker; what it does from now on is not recorded."""


class StopTask(LocQueueError):
    """Raised by ``context.check()`` in a task that should stop: shutdown, cancel, or a lost lease."""


class TaskTimeout(LocQueueError):
    """The task ran longer than its ``timeout`` of ``seconds``.

    Raised in the task at its deadline. It is an error like any other: what the task does not catch fails it, or has it
    tried again; one that catches it and returns has done what it returns.
    """

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__(seconds)
        self.seconds = seconds  # None in the task itself: Python raises it there without arguments

    def __str__(self) -> str:
        return "ran longer than its timeout" + ("" if self.seconds is None else f" of {self.seconds:g} s")


class QueueFull(LocQueueError):
    """So many tasks wait in the queue that ``MAX_PENDING`` allows no more. Nothing was stored.

    ``queue_name``; ``limit``: what is allowed; ``pending``: how many wait as far as this process knows; ``count``: how
    many more were to be stored.
    """

    def __init__(self, queue_name: str, limit: int, pending: int, count: int = 1) -> None:
        super().__init__(queue_name, limit, pending, count)
        self.queue_name = queue_name
        self.limit = limit
        self.pending = pending
        self.count = count

    def __str__(self) -> str:
        if self.count > self.limit:
            what = (
                f"{self.count:,} calls at once are more than its MAX_PENDING of {self.limit:,}. Enqueue fewer at a time"
            )
        else:
            waits = "1 task waits" if self.pending == 1 else f"{self.pending:,} tasks wait"
            what = f"{waits}, and its MAX_PENDING is {self.limit:,}. Try again later, start more workers"
        return f"The queue {self.queue_name!r} is full: {what}, or raise the limit in the backend's OPTIONS."


class UnknownTask(LocQueueError):
    """The stored path does not lead to a task definition in this version of the code."""


class InvalidSchedule(LocQueueError, ValueError):
    """A schedule that could never run, or not as meant. ``field``: which of its values is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field = field
        self.message = message

    def __str__(self) -> str:
        return f"{self.field} {self.message}"


class Expired(LocQueueError):
    """No worker took the task within the ``expires`` of its definition; it ended as cancelled."""


class OutcomeRefused(LocQueueError):
    """The task ran, but the database refuses what came of it (a return value too large for it, for one)."""


class WorkerLost(LocQueueError):
    """The worker stopped answering while it ran the task (killed, out of memory, machine gone)."""


class DamagedTask(LocQueueError):
    """The task's row holds what no worker can claim or read (edited by hand); it was failed for the sake of others."""


class StepSkipped(LocQueueError):
    """A step of a workflow did not begin, since a task in a step before it did not succeed."""


class TaskFailed(LocQueueError):
    """A task of a workflow did not succeed: what ``results()`` gives in the place of its return value.

    ``task_id``; ``error_class``: the dotted path of what it failed with; ``message``: the first line of that.
    """

    def __init__(self, task_id: int, error_class: str, message: str) -> None:
        super().__init__(task_id, error_class, message)
        self.task_id = task_id
        self.error_class = error_class
        self.message = message

    def __str__(self) -> str:
        return f"#{self.task_id}: {self.error_class}: {self.message}"


class ResultsGone(LocQueueError):
    """Results of a workflow are asked for whose tasks have been deleted or pruned."""


class WorkflowDoesNotExist(LocQueueError):
    """There is no workflow of this id, or none any more: ended ones are pruned."""


class DuplicateTask(LocQueueError):
    """Another task holds the unique key of a call, and ``on_conflict`` is ``"raise"``. Nothing was enqueued.

    ``task_result``: the result of the task that holds it.
    """

    task_result: Any = None

    def __init__(self, holder: Any = None) -> None:
        super().__init__(holder)
        self.holder = holder  # its row

    def __str__(self) -> str:
        if self.holder is None:
            return "Nothing was enqueued: another task holds the unique key."
        return f"Nothing was enqueued: {self.holder} holds the unique key {self.holder.unique_key!r}."


class InvalidPayload(LocQueueError, TypeError):
    """A stored payload is not what enqueue writes: ``{"args": [...], "kwargs": {...}}``."""


class ChunkFailed(LocQueueError):
    """Raised by a chunk's function when some of its calls have failed; the others have succeeded.

    ``errors``: by the number of the call in the list, from 0, the exception that it ends with: any, also a
    :class:`Retry`, :class:`Snooze` or :class:`Cancel`.
    """

    def __init__(self, errors: Mapping[int, BaseException]) -> None:
        for index, error in errors.items():
            if not isinstance(index, int) or not isinstance(error, BaseException):
                raise TypeError(f"ChunkFailed takes {{number of the call: exception}}, got {index!r}: {error!r:.80}.")
        super().__init__(errors)
        self.errors = dict(errors)

    def __str__(self) -> str:
        return f"{len(self.errors)} calls of the chunk failed"


class Verdict(Exception):
    """Base of what a task raises to say what happens to it next."""


def _told_wait(seconds: Any) -> str:
    if isinstance(seconds, int | float):
        return f"in {seconds} s"
    return f"in {seconds!r:.40}, which is no number of seconds: it waits for the longest backoff"


class Retry(Verdict):
    """Try again later. Charges an attempt, so the task needs ``max_attempts`` above 1; the last attempt fails.

    ``after``: seconds to wait; ``None`` uses the task's own backoff.
    """

    def __init__(self, after: float | None = None) -> None:
        super().__init__(after)
        self.after = after

    def __str__(self) -> str:
        return "asked to retry after its backoff" if self.after is None else f"asked to retry {_told_wait(self.after)}"


class Snooze(Verdict):
    """Run again in ``seconds``; no attempt is charged."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    def __str__(self) -> str:
        return f"asked to run again {_told_wait(self.seconds)}"


class Cancel(Verdict):
    """End as cancelled, for the given ``reason``; Django sees FAILED."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return str(self.reason) or "cancelled without a reason"
