"""Sample tasks, each for one fact. A task that many facts need comes first."""

import argparse
import asyncio
import itertools
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group
from django.db import OperationalError, connections
from django.utils import timezone, translation

from django_locqueue import Snooze, compat, task

# The decorator of Django's own framework (or of its backport), which knows nothing of ours.
django_task = sys.modules[compat.Task.__module__].task

gate = threading.Event()  # what `wait_for_gate` waits for; the test sets it
entered = threading.Event()  # set by tasks that want to say that they run


def write_ledger(path: str, text: str) -> None:
    """Append one line. One write to a file opened with O_APPEND: lines of many processes do not mix."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(handle, f"{text}\n".encode())
    finally:
        os.close(handle)


@task
def add(a: int, b: int = 0) -> int:
    return a + b


@task
def echo(value: Any = None) -> Any:
    return value


@task
def total(first: int, *others: int) -> int:
    return first + sum(others)


@task(takes_context=True)
def build_page(context: Any, number: int) -> int:
    return number


@task
async def echo_async(value: Any = None) -> Any:
    await asyncio.sleep(0)
    return value


@django_task
def plain(value: Any = None) -> Any:
    return value


@django_task(takes_context=True)
def plain_with_context(context: Any) -> int:
    return int(context.attempt)


@task(takes_context=True)
def describe_context(context: Any) -> dict[str, Any]:
    return {
        "id": context.task_result.id,
        "status": context.task_result.status,
        "attempt": context.attempt,
        "metadata": context.metadata,
        "should_stop": context.should_stop,
        "errors": len(context.task_result.errors),
    }


@task(queue_name="mail", priority=7, max_attempts=3, metadata={"tenant": "acme"})
def configured() -> None:
    """A task with options."""


@task(keep_result=False)
def forgotten() -> int:
    return 1


# -- failing


@task
def fail(text: str = "this task always fails") -> None:
    raise ValueError(text)


@task
async def fail_async(text: str = "this task always fails") -> None:
    raise ValueError(text)


barrier = threading.Barrier(1)


@task
def meet_at_barrier() -> None:
    barrier.wait(30)


@task
def exit_with(code: Any = None) -> None:
    sys.exit(code)


@task
async def exit_async(code: Any = None) -> None:
    sys.exit(code)


@task
def call_exit() -> None:
    exit(3)


@task
def interrupt() -> None:
    raise KeyboardInterrupt


@task
def close_generator() -> None:
    raise GeneratorExit("closed from outside")


@task
def recurse() -> None:
    recurse.func()


@task
async def cancel_itself() -> None:
    raise asyncio.CancelledError


@task
def ask_for_too_much_memory() -> None:
    bytearray(1 << 60)


@task
def misuse_argparse() -> None:
    argparse.ArgumentParser().parse_args(["--nonsense"])


@task
def set_a_signal_handler() -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)


@task
def raise_group_of_exits() -> None:
    raise BaseExceptionGroup("several", [SystemExit(3), KeyboardInterrupt()])


@task
def return_unstorable(kind: str) -> Any:
    return {
        "object": object(),
        "set": {1},
        "nan": float("nan"),
        "bytes": b"\xff",
        "key": {("a", "b"): 1},
        "date": timezone.now(),
        "self": translation.gettext_lazy("lazy"),
        "hostile": HostileMapping(),
        "endless": itertools.count(),
    }[kind]


class HostileMapping(dict):
    def items(self) -> Any:
        raise RuntimeError("no items for you")


class TwoArguments(Exception):
    def __init__(self, one: str, two: str) -> None:
        super().__init__(one, two)


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class NoText(Exception):
    def __str__(self) -> Any:
        return None


class Unpicklable(Exception):
    def __reduce__(self) -> Any:
        raise TypeError("not to be pickled")


class Circular(Exception):
    """Its cause is itself."""


@task
def raise_hostile(kind: str) -> None:
    match kind:
        case "two arguments":
            raise TwoArguments("a", "b")
        case "unprintable":
            raise UnprintableError
        case "no text":
            raise NoText
        case "local class":

            class LocalError(Exception):
                pass

            raise LocalError("from inside a function")
        case "holds a lock":
            error = ValueError("holds a lock")
            error.lock = threading.Lock()  # type: ignore[attr-defined]
            raise error
        case "group":
            raise ExceptionGroup("several", [ValueError("one"), TypeError("two")])
        case "cannot be pickled":
            raise Unpicklable("stays here")
        case "circular":
            circle = Circular("round")
            circle.__cause__ = Circular("and round")
            circle.__cause__.__cause__ = circle
            raise circle
        case "deep chain":
            chain: Exception = ValueError("the first")
            for number in range(2000):
                outer = ValueError(f"link {number}")
                outer.__cause__ = chain
                chain = outer
            raise chain
        case "huge text":
            raise ValueError("x" * 1_000_000)
        case "control characters":
            raise ValueError("nul \x00, surrogate \ud835, second line\nforged line")


# -- the database


@task
def create_group(name: str) -> int:
    return int(Group.objects.create(name=name).pk)


@task
def read_group(pk: int) -> str:
    return str(Group.objects.get(pk=pk).name)


@task(atomic=True)
def create_group_atomically(name: str, then: str = "return") -> Any:
    Group.objects.create(name=name)
    match then:
        case "fail":
            raise ValueError("after the insert")
        case "exit":
            sys.exit(1)
        case "unstorable":
            return object()
        case "snooze":
            raise Snooze(60)
    return name


@task(atomic=True)
def read_and_write_atomically(name: str) -> int:
    """Read, let another connection try to write, then write: too late without the write lock from the start."""
    number = Group.objects.count()
    writer = threading.Thread(target=_write_elsewhere)
    writer.start()
    writer.join(0.3)
    Group.objects.create(name=name)
    return number


def _write_elsewhere() -> None:
    try:
        Group.objects.create(name="elsewhere")
    finally:
        connections.close_all()


@task(atomic=True)
def raise_what_a_database_says(text: str) -> None:
    raise OperationalError(text)


# -- stopping


@task
def wait_for_gate() -> str:
    entered.set()
    if not gate.wait(20):
        raise TimeoutError("nobody opened the gate")
    return "through"


@task(takes_context=True)
def run_until_asked_to_stop(context: Any) -> None:
    entered.set()
    tick = threading.Event()
    for _ in range(400):
        context.check()
        tick.wait(0.05)
    raise TimeoutError("nobody asked it to stop")


# -- for real processes: each writes a ledger, whose path it is given


@task(takes_context=True)
def note_the_stop(context: Any, ledger: str) -> None:
    write_ledger(ledger, "start")
    tick = threading.Event()
    while not context.should_stop:
        tick.wait(0.05)
    write_ledger(ledger, str(context.execution.stop_reason))


@task
def note(ledger: str, text: str = "run") -> None:
    write_ledger(ledger, text)


@task
def wait_for_go(ledger: str) -> str:
    """Run until the ledger says `go`: what the test does before it says so, it does while this runs."""
    write_ledger(ledger, "start")
    tick = threading.Event()
    while "go" not in Path(ledger).read_text().splitlines():
        tick.wait(0.02)
    write_ledger(ledger, "end")
    return "went"


@task
def note_and_sleep(ledger: str, seconds: float) -> str:
    write_ledger(ledger, "start")
    time.sleep(seconds)
    write_ledger(ledger, "end")
    return "slept"


@task
def sleep_at_first(ledger: str, seconds: float) -> None:
    """Sleep in the first run only."""
    write_ledger(ledger, "start")
    if Path(ledger).read_text().splitlines().count("start") == 1:
        time.sleep(seconds)


@task
def open_transactions() -> list[str]:
    return [each.alias for each in connections.all(initialized_only=True) if each.in_atomic_block]


@task(atomic=True)
def open_transactions_atomically() -> list[str]:
    return [each.alias for each in connections.all(initialized_only=True) if each.in_atomic_block]
