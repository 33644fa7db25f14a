"""Tasks that say how far they are, and keep what their next try shall know."""

import threading
from typing import Any

from django_locqueue import task

gate = threading.Event()
said = threading.Event()


@task(takes_context=True)
def report_and_wait(context: Any) -> None:
    context.progress(0.25, "page 1 of 4")
    said.set()
    gate.wait(20)
    context.progress(1, "page 4 of 4")


@task(takes_context=True)
def report_often(context: Any, times: int) -> None:
    for number in range(times):
        context.progress(number / times, f"{number} of {times}")


@task(takes_context=True, atomic=True)
def report_atomically(context: Any) -> None:
    context.progress(0.5, "half")


@task(takes_context=True, max_attempts=3, backoff=0)
def go_on_where_it_was(context: Any) -> list[int]:
    done = context.metadata.setdefault("done", [])
    done.append(context.attempt)
    context.save_metadata()
    if len(done) < 3:
        raise OSError(f"try {context.attempt}")
    return list(done)


@task(takes_context=True)
def report_nonsense(context: Any, fraction: Any) -> None:
    context.progress(fraction)


@task(takes_context=True)
def save_nonsense(context: Any) -> None:
    context.metadata["when"] = {1, 2}
    context.save_metadata()


@task(takes_context=True)
async def report_async(context: Any) -> None:
    context.progress(None, "nobody knows how far")
