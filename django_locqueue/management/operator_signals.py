"""What an operator asks of a running worker by a signal, besides to stop.

SIGUSR1: take no more tasks. SIGUSR2: say what each thread does. SIGHUP: open the log files anew. Windows has none.
"""

import logging
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django_locqueue.worker.worker import Worker

logger = logging.getLogger("django_locqueue.worker")

NUMBERS = [getattr(signal, name) for name in ("SIGUSR1", "SIGUSR2", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def heard(handle: Callable[[int], None]) -> Iterator[None]:
    """Call ``handle(number)`` for each, between two instructions of the main thread: it must take no lock."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda number, frame: handle(number)) for number in NUMBERS}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def attend(worker: Worker, asked: list[int]) -> None:
    """Do what was asked for, on a thread that may wait for locks."""
    while asked:
        match signal.Signals(asked.pop(0)).name:
            case "SIGUSR1":
                worker.quiet()  # before it is said: who reads the line may enqueue for others at once
                logger.info("quiet  takes no more tasks; %d still run. Stop it when they have ended.", worker.pool.busy)
            case "SIGUSR2":
                logger.warning("What each thread does:\n%s", stacks(worker))
            case "SIGHUP":
                reopen_logs()


def stacks(worker: Worker) -> str:
    """Return each thread's stack, under its name, and the tasks that run."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    running = [f"{each.claimed.name} #{each.claimed.id} for {each.seconds:.1f} s" for each in worker.pool.members]
    parts = [f"running: {', '.join(running) or 'nothing'}"]
    for ident, frame in sys._current_frames().items():
        parts.append(f"-- {names.get(ident, ident)}\n{''.join(traceback.format_stack(frame)).rstrip()}")
    return "\n".join(parts)


def reopen_logs() -> None:
    """Close the files that logging writes: each opens its own again with its next line, where it was moved away."""
    loggers = [logging.getLogger(), *(each for each in logging.root.manager.loggerDict.values())]
    for each in loggers:
        for handler in getattr(each, "handlers", ()):
            if isinstance(handler, logging.FileHandler) and handler.mode != "w":
                handler.close()
