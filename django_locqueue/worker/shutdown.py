"""Signals of the operating system: the first asks the worker to stop, the second makes it leave."""

import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from django_locqueue.connections import close_connections

STOPPING = [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGBREAK") if hasattr(signal, name)]
AT_ONCE = [getattr(signal, name) for name in ("SIGQUIT",) if hasattr(signal, name)]

T = TypeVar("T")

LOOK_SECONDS = 0.1  # how soon a stop signal is seen
BEGIN_SECONDS = 2.0  # what a first connection gets after a stop signal


@contextmanager
def stop_signals(received: list[int], ring: Callable[[], None]) -> Iterator[None]:
    """Note each stop signal in ``received``, SIGQUIT twice: the second means at once. Then call ``ring``."""

    def stop(number: int) -> None:
        received.extend([number] * (2 if number in AT_ONCE else 1))
        ring()

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


def begin(work: Callable[[], T], received: list[int]) -> T:
    """Return what ``work`` returns, or raise what it raises; leave if it hangs after a stop signal.

    On a thread of its own, since in a first connection a driver may wait in C, where no signal handler runs. What has
    not begun has nothing to put back.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    box: list[T] = []
    failed: list[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            box.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            close_connections()
            ended.set()

    threading.Thread(target=run, name="locqueue-begin", daemon=True).start()
    told: float | None = None
    while not ended.wait(LOOK_SECONDS):
        if received and told is None:
            told = time.monotonic()
        if len(received) > 1:
            leave(128 + received[1])
        if told is not None and time.monotonic() - told > BEGIN_SECONDS:
            leave(0)
    if failed:
        raise failed[0]
    return box[0]


def within(seconds: float, work: Callable[[], None]) -> None:
    """Do it, but do not wait longer: a database that drops packets must not hold up anybody."""
    thread = threading.Thread(target=work, name="locqueue-within", daemon=True)
    thread.start()
    thread.join(seconds)


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
