"""Calls a task's function, holds it to its timeout, and lets it be interrupted: the one place that sets a deadline."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from asgiref.sync import async_to_sync

from django_locqueue.exceptions import StopTask, TaskTimeout
from django_locqueue.worker.call import BoundCall
from django_locqueue.worker.execution import Execution, StopReason
from django_locqueue.worker.interrupt import Interruptible

CANCEL_AGAIN_SECONDS = 5.0  # asgiref swallows a cancellation that comes while a thread works for the task

Watch = Callable[[Execution], None]


def begin(execution: Execution, timeout: float, watch: Watch) -> None:
    """The function begins now: set its deadline, and let the watchdog know."""
    execution.timeout = timeout
    execution.deadline = time.monotonic() + timeout
    watch(execution)


def call(execution: Execution, call: BoundCall, watch: Watch) -> Any:
    """Make the executor's call, async or not, on this thread.

    Raises :class:`TaskTimeout` at its deadline, and :class:`StopTask` when it is cancelled and does not stop by itself.
    """
    if call.plan.is_async:
        return async_to_sync(perform)(execution, call, watch)
    interruptible = execution.interruptible = Interruptible()
    execution.interrupt = watch
    if call.plan.timeout is not None:
        begin(execution, call.plan.timeout, watch)
    if execution.stop_reason is not None and execution.stop_reason is StopReason.CANCELLED:
        raise StopTask(execution.stop_reason)
    try:
        return interruptible.call(call)
    except TaskTimeout as error:
        if error.seconds is None:  # as it comes into the thread: a bare class
            error.seconds = execution.timeout
        raise
    except StopTask as error:
        error.args = error.args or (execution.stop_reason,)
        raise
    finally:
        execution.interrupt = None


async def perform(execution: Execution, call: BoundCall, watch: Watch) -> Any:
    """Await an async task's function. To be asked to stop is to be cancelled."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    performing = True

    def cancel() -> None:
        if performing and task is not None:
            task.cancel()
            loop.call_later(CANCEL_AGAIN_SECONDS, cancel)

    def interrupt(execution: Execution) -> None:
        with suppress(RuntimeError):  # the loop of a single call has just been closed
            loop.call_soon_threadsafe(cancel)

    execution.interrupt = interrupt
    try:
        if execution.stop_reason is not None:
            raise StopTask(execution.stop_reason)
        if call.plan.timeout is None:
            return await call.awaited()
        begin(execution, call.plan.timeout, watch)
        return await _until_deadline(execution, call.awaited())
    except asyncio.CancelledError as error:
        if execution.stop_reason is None:
            raise
        raise StopTask(execution.stop_reason) from error
    finally:
        performing = False
        execution.interrupt = None


async def _until_deadline(execution: Execution, work: Awaitable[Any]) -> Any:
    """Await an async task's function. At the deadline it is cancelled as asyncio does, and TaskTimeout is raised."""
    try:
        async with asyncio.timeout_at(execution.deadline) as scope:  # the loop's clock is the monotonic one
            return await work
    except TimeoutError:
        if scope.expired():
            raise TaskTimeout(execution.timeout) from None
        raise
