"""Runs an async task on the event loop: the executor's steps, of which only the function's own is awaited."""

import asyncio
from collections.abc import Callable
from functools import partial

from asgiref.sync import sync_to_async

from django_locqueue.exceptions import StopTask
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.worker import deadline
from django_locqueue.worker.call import Call
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import NOT_BEGUN_SECONDS, Executor

CANCEL_AGAIN_SECONDS = 5.0  # asgiref swallows a cancellation that comes while a thread works for the task


class AsyncExecutor:
    """``between_tasks()``: what a thread does before it begins another task."""

    def __init__(self, executor: Executor, between_tasks: Callable[[], None] = lambda: None) -> None:
        self.executor = executor
        self.between_tasks = between_tasks

    async def run(self, execution: Execution) -> None:
        """Run the task and set ``execution.outcome``. Never raises."""
        try:
            outcome = await self._run(execution)
        except asyncio.CancelledError:
            self.not_begun(execution)
            return
        except BaseException as error:
            outcome = self.executor.fault(execution, error)
        self.executor.end(execution, outcome)

    def not_begun(self, execution: Execution) -> None:
        """Another task has cancelled it before it could begin: it goes back uncharged."""
        self.executor.end(execution, Outcome(Kind.RELEASED, delay=NOT_BEGUN_SECONDS))

    async def _run(self, execution: Execution) -> Outcome:
        # On a thread only what may use the database: receivers of signals, hooks, and the errors of earlier tries.
        if self.executor.is_heard or execution.claimed.attempt > 1 or self.executor.has_claim_hooks(execution.claimed):
            call = await sync_to_async(self._begin)(execution)
        else:
            call = self.executor.begin(execution)
        if isinstance(call, Outcome):
            return call
        try:
            value = await self._perform(execution, call)
        except BaseException as error:
            return await sync_to_async(self.executor.after_error)(execution, call.plan.options, error)
        return self.executor.normalise(call.plan.options, value)

    def _begin(self, execution: Execution) -> Outcome | Call:
        self.between_tasks()
        return self.executor.begin(execution)

    async def _perform(self, execution: Execution, call: Call) -> object:
        """Await the function. To be asked to stop is to be cancelled."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        performing = True

        def cancel() -> None:
            if performing and task is not None:
                task.cancel()
                loop.call_later(CANCEL_AGAIN_SECONDS, cancel)

        execution.interrupt = partial(loop.call_soon_threadsafe, cancel)
        try:
            if execution.stop_reason is not None:
                raise StopTask(execution.stop_reason)
            timeout = call.plan.timeout
            if timeout is None:
                return await call.awaited()
            deadline.begin(execution, timeout, self.executor.watch)
            return await deadline.await_until(execution, call.awaited)
        except asyncio.CancelledError as error:
            if execution.stop_reason is None:
                raise
            raise StopTask(execution.stop_reason) from error
        finally:
            performing = False
            execution.interrupt = None
