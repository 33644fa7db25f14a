"""Tasks with a timeout, and what keeps them from obeying it."""

import asyncio
import ctypes
import os
import socket
import threading
import time
from contextlib import suppress
from typing import Any

from django_locqueue import task
from django_locqueue.exceptions import TaskTimeout
from tests.tasks import write_ledger

held = threading.Event()  # what `block` waits for; the test sets it, so that no thread is left behind
came_back = threading.Event()
spinning = threading.Event()


@task(timeout=0.2)
def spin() -> None:
    while True:
        pass


@task(timeout=60)  # the test brings its deadline forward
def give_in() -> str:
    try:
        spinning.set()
        while True:
            pass
    except TaskTimeout:
        return "tidied up"


@task(timeout=0.2)
def ignore() -> None:
    """Blocked, and it does not want to hear of its timeout either."""
    with suppress(TaskTimeout):
        spin.func()
    held.wait(60)
    came_back.set()


@task(timeout=0.2, max_attempts=2, backoff=3600.0)
def ignore_and_retry() -> None:
    ignore.func()


@task(timeout=0.2)
async def sleep_async() -> None:
    await asyncio.sleep(60)


@task(timeout=0.2)
async def raise_timeout_error() -> None:
    raise TimeoutError("not ours")


@task(timeout=30, takes_context=True)
def time_left(context: Any) -> float:
    return float(context.deadline - time.monotonic())


@task(takes_context=True)
def has_deadline(context: Any) -> bool:
    return context.deadline is not None


@task(timeout=float("inf"), takes_context=True)
def never(context: Any) -> bool:
    return context.deadline is not None


@task(timeout=60)
def in_time() -> str:
    return "in time"


@task(timeout=0.2, max_attempts=2, backoff=3600.0)
def spin_and_retry() -> None:
    spin.func()


@task(timeout=0.2, max_attempts=2, retry_on=(OSError,))
def spin_and_retry_others() -> None:
    spin.func()


# -- for real processes


@task(timeout=1)
def hang(ledger: str, how: str) -> None:
    write_ledger(ledger, f"{how} begins")
    match how:
        case "sleep":
            time.sleep(60)
        case "socket":
            ours, _theirs = socket.socketpair()
            ours.recv(1)
        case "loop":
            spin.func()
        case "lock":
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()
    write_ledger(ledger, f"{how} ends")


@task(timeout=1)
def hold_python(ledger: str) -> None:
    """Nothing else can run in this process meanwhile: `PyDLL` keeps Python's lock."""
    write_ledger(ledger, "start")
    ctypes.PyDLL(None).sleep(60)


@task
def note_pid(ledger: str, seconds: float = 0) -> None:
    write_ledger(ledger, f"pid {os.getpid()}")
    time.sleep(seconds)
