"""Signals of the operating system: the first asks the worker to stop, the second makes it leave."""

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGBREAK") if hasattr(signal, name)]
AT_ONCE = [getattr(signal, name) for name in ("SIGQUIT",) if hasattr(signal, name)]


@contextmanager
def stop_signals(request_stop: Callable[[], None], received: list[int]) -> Iterator[None]:
    """Call ``request_stop`` for each stop signal, twice for SIGQUIT; those that came are in ``received``."""

    def stop(number: int) -> None:
        for _ in range(2 if number in AT_ONCE else 1):
            received.append(number)
            request_stop()

    with passed_signals(stop):
        yield


@contextmanager
def passed_signals(handle: Callable[[int], None]) -> Iterator[None]:
    """Call ``handle(number)`` for each stop signal, between two instructions of the main thread: it must take no lock.

    Only the main thread can install handlers; elsewhere (tests, another thread) nothing is installed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handler(number: int, frame: FrameType | None) -> None:
        handle(number)

    before = {number: signal.signal(number, handler) for number in (*STOPPING, *AT_ONCE)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def exit_code(received: list[int], code: int) -> int:
    """Return 128 + the signal if it took two to end the worker, else ``code``."""
    return 128 + received[1] if len(received) > 1 else code


def leave_within(seconds: float, code: int) -> None:
    """Let Python end the process, but not wait longer for threads that a task has started and never ended."""

    def watch() -> None:
        threading.Event().wait(seconds)
        leave(code)

    threading.Thread(target=watch, name="exit-watch", daemon=True).start()


def leave(code: int) -> None:
    """End the process now, whatever its threads are stuck in."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
