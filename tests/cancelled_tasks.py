"""Tasks that are cancelled while they run, and what they do about it."""

import asyncio
import threading
from typing import Any

from django.contrib.auth.models import Group

from django_locqueue import task
from django_locqueue.exceptions import StopTask
from tests.tasks import write_ledger

began = threading.Event()
held = threading.Event()  # what those wait for that do not hear of it


@task
def compute() -> None:
    began.set()
    while True:
        pass


@task(max_attempts=5, backoff=0)
def note_and_compute(ledger: str) -> None:
    write_ledger(ledger, "start")
    compute.func()


@task(max_attempts=5, backoff=3600.0)
def compute_with_attempts_left() -> None:
    compute.func()


@task
def tidy_up() -> str:
    try:
        compute.func()
    except StopTask:
        return "tidied up"
    return "never"


@task(takes_context=True)
def leave_when_asked(context: Any) -> None:
    began.set()
    while not context.should_stop:
        pass
    context.check()


@task(takes_context=True)
def ask_for_nothing(context: Any) -> None:
    compute.func()


@task
def hear_nothing() -> str:
    """Blocked where Python cannot interrupt, and what comes then is caught."""
    began.set()
    try:
        held.wait(30)
    except StopTask:
        return "caught it late"
    return "heard nothing"


@task(chunk=2, chunk_wait=0)
def compute_in_chunks(calls: list[Any]) -> None:
    compute.func()


@task
async def wait_async() -> None:
    began.set()
    await asyncio.sleep(60)


@task(atomic=True)
def write_atomically(name: str) -> None:
    Group.objects.create(name=name)
    compute.func()


@task(atomic=True)
async def wait_async_atomically() -> None:
    began.set()
    await asyncio.sleep(60)
