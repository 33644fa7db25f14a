"""Calls a task's function and holds it to its timeout: the one place that sets a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync

from django_locqueue.exceptions import TaskTimeout
from django_locqueue.worker.call import Call
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.interrupt import Interruptible

Watch = Callable[[Execution], None]


def begin(execution: Execution, timeout: float, watch: Watch) -> None:
    """The function begins now: set its deadline, and let the watchdog know."""
    execution.timeout = timeout
    execution.deadline = time.monotonic() + timeout
    watch(execution)


def call(execution: Execution, call: Call, timeout: float, watch: Watch) -> Any:
    """Make the executor's call, async or not, on this thread. Raises :class:`TaskTimeout` at its deadline."""
    try:
        if call.plan.is_async:
            begin(execution, timeout, watch)
            return async_to_sync(partial(await_until, execution, call.awaited))()
        execution.interruptible = Interruptible()
        begin(execution, timeout, watch)
        return execution.interruptible.call(call)
    except TaskTimeout as error:
        if error.seconds is None:  # as it comes into the thread: a bare class
            error.seconds = timeout
        raise


async def await_until(execution: Execution, function: Callable[[], Awaitable[Any]]) -> Any:
    """Await an async task's call. At the deadline it is cancelled as asyncio does, and TaskTimeout is raised."""
    try:
        async with asyncio.timeout_at(execution.deadline) as scope:  # the loop's clock is the monotonic one
            return await function()
    except TimeoutError:
        if scope.expired():
            raise TaskTimeout(execution.timeout) from None
        raise
