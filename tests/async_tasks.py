"""Sample tasks for the event loop, and what they wait for."""

import asyncio
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group
from django.db import connections, transaction
from django.utils import translation

from django_locqueue import Cancel, Retry, Snooze, task
from tests.tasks import write_ledger


class Gate:
    """Async tasks wait at it; a test opens it, and sees who waits."""

    def __init__(self) -> None:
        self.close()

    def close(self) -> None:
        self.is_open = False
        self.waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self.cancelled = 0
        self.first = threading.Event()  # somebody waits

    async def passed(self) -> None:
        if self.is_open:
            return
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self.waiting.append((loop, future))
        self.first.set()
        try:
            await future
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    def open(self) -> None:
        self.is_open = True
        for loop, future in self.waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_let_pass, future)


def _let_pass(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


gate = Gate()
blocking = threading.Event()  # what a badly behaved task waits for
thread_names: set[str] = set()
connections_seen: list[Any] = []
left_behind: list[str] = []


@task
async def wait_at_gate(number: int = 0) -> int:
    await gate.passed()
    return number


def lines(ledger: str) -> list[str]:
    return Path(ledger).read_text().splitlines()


@task
async def note_and_wait(ledger: str) -> None:
    write_ledger(ledger, "start")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        write_ledger(ledger, "cancelled")
        raise


@task
async def die_at_first(ledger: str) -> None:
    write_ledger(ledger, "start")
    if lines(ledger).count("start") == 1:
        os.kill(os.getpid(), signal.SIGKILL)


@task
async def block_until_written(ledger: str) -> None:
    """Hold up the loop until another task has written its line."""
    write_ledger(ledger, "start")
    while "run" not in lines(ledger):
        blocking.wait(0.05)


@task(max_attempts=2)
async def end_by(how: str) -> Any:
    await asyncio.sleep(0)
    match how:
        case "raise":
            raise ValueError("the reason")
        case "retry":
            raise Retry(after=7)
        case "snooze":
            raise Snooze(60)
        case "cancel":
            raise Cancel("the order is gone")
        case "exit":
            sys.exit(3)
        case "interrupt":
            raise KeyboardInterrupt
        case "cancelled":
            raise asyncio.CancelledError
        case "unstorable":
            return object()
    return how


@task
async def name_the_thread() -> str:
    return threading.current_thread().name


@task
def name_the_slot() -> str:
    return threading.current_thread().name


@task(atomic=True)
async def create_group_atomically(name: str, then: str = "return") -> str:
    await Group.objects.acreate(name=name)
    if then == "raise":
        raise ValueError(name)
    return str(await sync_to_async(lambda: threading.current_thread().name)())


@task(takes_context=True)
async def check_the_context(context: Any) -> str:
    context.check()
    return str(context.task_result.id)


@task(takes_context=True)
async def run_until_it_hears(context: Any) -> None:
    """Never awaits what could be cancelled: it asks."""
    gate.first.set()
    while True:
        await asyncio.shield(asyncio.sleep(0))
        context.check()


@task
async def create_group(name: str) -> str:
    group = await Group.objects.acreate(name=name)
    found = await Group.objects.aget(pk=group.pk)
    return str(found.name)


@task
async def note_threads_of_the_orm(number: int) -> None:
    def note() -> None:
        Group.objects.exists()
        thread_names.add(threading.current_thread().name)

    await sync_to_async(note)()
    await gate.passed()
    await sync_to_async(note)()


@task
async def speak(language: str) -> str:
    translation.activate(language)
    await gate.passed()
    return str(translation.get_language())


@task
async def cancel_others() -> None:
    for each in asyncio.all_tasks() - {asyncio.current_task()}:
        each.cancel()


@task
async def tell_language() -> str:
    return str(await sync_to_async(translation.get_language)())


@task
async def leave_a_transaction_open(name: str) -> None:
    def begin() -> None:
        transaction.set_autocommit(False)
        Group.objects.create(name=name)

    await sync_to_async(begin)()


@task
async def query_on_a_lane() -> bool:
    def query() -> bool:
        connections_seen.append(connections["default"])
        return Group.objects.exists()

    return await sync_to_async(query)()


@task
async def query_in_another_thread() -> bool:
    def query() -> bool:
        connections_seen.append(connections["default"])
        return Group.objects.exists()

    return await asyncio.to_thread(query)


@task
async def block_the_loop() -> None:
    gate.first.set()
    blocking.wait(30)


@task(timeout=0.1)
async def wait_longer_than_its_timeout() -> None:
    await gate.passed()


@task(timeout=0.1)
async def block_the_loop_past_the_timeout() -> None:
    gate.first.set()
    blocking.wait(30)


@task
async def leave_something_running() -> str:
    async def go_on() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            left_behind.append("cancelled")

    background.append(asyncio.create_task(go_on()))
    await asyncio.sleep(0)
    return "left"


@task
async def exit_in_the_background() -> str:
    async def leave() -> None:
        sys.exit(3)

    background.append(asyncio.create_task(leave()))
    await asyncio.sleep(0.01)
    return "still here"


background: list[Any] = []
