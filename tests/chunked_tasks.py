"""Tasks that run in chunks. ``seen``: the calls that their functions have got, a list for each time."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django_locqueue import Cancel, ChunkCall, ChunkFailed, Retry, Snooze, task
from django_locqueue.exceptions import StopTask
from tests.tasks import write_ledger

seen: list[list[ChunkCall]] = []
meanwhile: list[Callable[[], object]] = []  # what `check` does first
gate = threading.Event()
entered = threading.Event()


@task(chunk=5, chunk_wait=0)
def note(calls: list[ChunkCall]) -> None:
    seen.append(calls)


@task(chunk=5, chunk_wait=60)
def note_when_full(calls: list[ChunkCall]) -> None:
    seen.append(calls)


@task(chunk=5, chunk_wait=0, max_attempts=2, backoff=30)
def answer(calls: list[ChunkCall]) -> list[Any]:
    """Give each call what it asks for."""
    seen.append(calls)
    return [_ANSWERS[call.args[0]](*call.args[1:]) for call in calls]


_ANSWERS: dict[str, Any] = {
    "value": lambda value: value,
    "error": ValueError,
    "retry": Retry,
    "cancel": Cancel,
    "snooze": Snooze,
    "object": object,
}


@task(chunk=5, chunk_wait=0)
def answer_all(calls: list[ChunkCall]) -> dict[str, int]:
    return {"calls": len(calls)}


@task(chunk=5, chunk_wait=0)
def fail_all(calls: list[ChunkCall]) -> None:
    raise ValueError("the service is away")


@task(chunk=5, chunk_wait=0, max_attempts=3, backoff=lambda error, result: 10.0 * result.args[0])
def retry_all(calls: list[ChunkCall]) -> None:
    raise ValueError("the service is away")


@task(chunk=5, chunk_wait=0)
def fail_second(calls: list[ChunkCall]) -> None:
    raise ChunkFailed({1: ValueError("not this one")})


@task(chunk=5, chunk_wait=0, max_attempts=3)
def answer_too_few(calls: list[ChunkCall]) -> list[int]:
    return [1]


@task(chunk=5, chunk_wait=0, keep_result=False)
def forget(calls: list[ChunkCall]) -> None: ...


@task(chunk=5, chunk_wait=0, takes_context=True)
def check(context: Any, calls: list[ChunkCall]) -> list[bool]:
    for act in meanwhile:
        act()
    meanwhile.clear()
    context.check()
    return [call.should_stop for call in calls]


@task(chunk=5, chunk_wait=0, timeout=0.2)
def spin(calls: list[ChunkCall]) -> None:
    while True:
        pass


@task(chunk=5, chunk_wait=0, timeout=0.2)
def hang(calls: list[ChunkCall]) -> None:
    """Nothing interrupts it but the test, which opens the gate."""
    gate.wait(20)


@task(chunk=5, chunk_wait=0)
def wait_for_gate(calls: list[ChunkCall]) -> list[str]:
    entered.set()
    gate.wait(20)
    return [call.id for call in calls]


@task(chunk=5, chunk_wait=0, max_attempts=2, backoff=0)
def retry_soon(calls: list[ChunkCall]) -> None:
    seen.append(calls)
    raise ValueError("the service is away")


@task(chunk=5, chunk_wait=0)
def wait_for_cancel(calls: list[ChunkCall]) -> list[Any]:
    """Go on until one of the calls is cancelled."""
    entered.set()
    while not any(call.should_stop for call in calls):
        gate.wait(0.01)
    return [StopTask() if call.should_stop else None for call in calls]


@task(chunk=5, chunk_wait=0, rate_limit="1/h")
def note_at_a_rate(calls: list[ChunkCall]) -> None:
    seen.append(calls)


@task(chunk=5, chunk_wait=0, rate_limit="100/s", max_attempts=2)
def retry_at_a_rate(calls: list[ChunkCall]) -> list[Any]:
    error = Retry(after=600)
    if calls[0].args == ["raise"]:
        raise error
    return [error] * len(calls)


@task(chunk=5, chunk_wait=0, rate_limit="1/h", takes_context=True)
def return_the_rate(context: Any, calls: list[ChunkCall]) -> bool:
    return bool(context.return_rate())


@task(chunk=5, chunk_wait=0)
async def answer_async(calls: list[ChunkCall]) -> list[Any]:
    seen.append(calls)
    return [_ANSWERS[call.args[0]](*call.args[1:]) for call in calls]


@task(chunk=5, chunk_wait=0.2)
def die_at_first(calls: list[ChunkCall]) -> int:
    """Kill the process in the first run only."""
    ledger = calls[0].args[0]
    write_ledger(ledger, f"start {len(calls)}")
    if len(Path(ledger).read_text().splitlines()) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(calls)
