"""Keeps the lines that a task logs while it runs, for its page."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django_locqueue import conf
from django_locqueue.exceptions import StopTask, TaskTimeout
from django_locqueue.policies.task_log import Line
from django_locqueue.worker.execution import Execution

Reported = Callable[[Execution], object]

_followed: ContextVar[tuple[Execution, Reported] | None] = ContextVar("locqueue_followed", default=None)


def follow(execution: Execution, reported: Reported) -> None:
    """What is logged in this context from now on is the execution's. ``reported`` is called for each line.

    A chunk's lines are nobody's: one call is for up to a thousand tasks, and each would get a copy of them all.
    """
    if not execution.is_chunk:
        _followed.set((execution, reported))


class LogKeeper(logging.Handler):
    """A handler of the root logger. ``most``: so many lines of a run are kept, the last."""

    def __init__(self, most: int) -> None:
        super().__init__(logging.INFO)
        self.most = most

    def createLock(self) -> None:  # noqa: N802 - logging's name
        self.lock = None  # many threads append to a deque without one

    def handle(self, record: logging.LogRecord) -> bool:
        if (followed := _followed.get()) is not None:
            try:
                self._keep(record, *followed)
            except (StopTask, TaskTimeout):  # it came into the thread at this moment, and is meant for the task
                raise
            except Exception:  # noqa: S110 - a message that is no text must not fail the task, and who would log it?
                pass
        if self._is_alone_with(record):
            logging.lastResort.handle(record)  # type: ignore[union-attr]
        return True

    def _keep(self, record: logging.LogRecord, execution: Execution, reported: Reported) -> None:
        if execution.ended:  # something that it has left behind goes on
            return
        if execution.lines is None:
            execution.__dict__.setdefault("lines", deque(maxlen=self.most))  # two threads of it may write its first
        execution.lines.append(Line.of(record, execution.claimed.attempt))  # type: ignore[union-attr]
        reported(execution)

    def _is_alone_with(self, record: logging.LogRecord) -> bool:
        """Whether Python itself would have written it to stderr, as it does where a logger has no handler."""
        if logging.lastResort is None or record.levelno < logging.lastResort.level:
            return False
        logger: logging.Logger | None = logging.getLogger(record.name)
        while logger is not None:
            if any(handler is not self for handler in logger.handlers):
                return False
            logger = logger.parent
        return True


@contextmanager
def kept() -> Iterator[None]:
    """Keep what tasks log, as ``LOG_LINES`` says; where somebody else in this process does so already, nothing."""
    root, most = logging.getLogger(), conf.worker.LOG_LINES
    if not most or any(isinstance(handler, LogKeeper) for handler in root.handlers):
        yield
        return
    keeper = LogKeeper(most)
    root.addHandler(keeper)
    try:
        yield
    finally:
        root.removeHandler(keeper)
