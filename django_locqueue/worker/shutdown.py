"""Signals of the operating system: the first asks the worker to stop, the second makes it leave."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGBREAK") if hasattr(signal, name)]
AT_ONCE = [getattr(signal, name) for name in ("SIGQUIT",) if hasattr(signal, name)]


@contextmanager
def stop_signals(request_stop: Callable[[], None]) -> Iterator[list[int]]:
    """Call ``request_stop`` for each stop signal, twice for SIGQUIT; yield the list of those that came."""
    received: list[int] = []

    def stop(number: int) -> None:
        for _ in range(2 if number in AT_ONCE else 1):
            received.append(number)
            request_stop()

    with passed_signals(stop):
        yield received


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


def leave(code: int) -> None:
    """End the process now, although threads are stuck in tasks that were given back."""
    import logging
    import sys

    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
