"""Runs an async task on the event loop: the executor's steps, of which only the function's own is awaited."""

import asyncio
from collections.abc import Callable

from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured

from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.store import Claimed
from django_locqueue.worker import deadline
from django_locqueue.worker.call import BoundCall, holds_items
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import NOT_BEGUN_SECONDS, Executor
from django_locqueue.worker.log_keeper import follow


class AsyncExecutor:
    """``between_tasks()``: what a thread does before it begins another task."""

    def __init__(
        self, executor: Executor, chunk_executor: Executor, between_tasks: Callable[[], None] = lambda: None
    ) -> None:
        self.executor = executor
        self.chunk_executor = chunk_executor
        self.between_tasks = between_tasks

    async def run(self, execution: Execution) -> None:
        """Run the task and set ``execution.outcome``. Never raises."""
        try:
            outcome = await self._run(self._steps(execution), execution)
        except asyncio.CancelledError:
            self.not_begun(execution)
            return
        except BaseException as error:
            outcome = self.executor.fault(execution, error)
        self._steps(execution).end(execution, outcome)

    def _steps(self, execution: Execution) -> Executor:
        return self.chunk_executor if execution.is_chunk else self.executor

    def not_begun(self, execution: Execution) -> None:
        """Another task has cancelled it before it could begin: it goes back uncharged."""
        self._steps(execution).end(execution, Outcome(Kind.RELEASED, delay=NOT_BEGUN_SECONDS))

    async def _run(self, steps: Executor, execution: Execution) -> Outcome:
        # On a thread only what may use the database: receivers of signals, hooks, the errors of earlier tries, unique
        # items.
        claimed = execution.claimed
        uses_database = claimed.attempt > 1 or holds_items(claimed) or self._has_hooks(claimed)
        if self.executor.is_heard or execution.is_chunk or uses_database:
            call = await sync_to_async(self._begin)(steps, execution)
        else:
            call = steps.begin(execution)
        if isinstance(call, Outcome):
            return call
        follow(execution, steps.reported)
        try:
            value = await deadline.perform(execution, call, self.executor.watch)
        except BaseException as error:
            return await sync_to_async(steps.after_error)(execution, call.plan.options, error)
        if execution.is_chunk:  # among the values may be errors
            return await sync_to_async(steps.normalise)(execution, call.plan.options, value)
        return steps.normalise(execution, call.plan.options, value)

    def _has_hooks(self, claimed: Claimed) -> bool:
        try:
            return bool(self.executor.backend_of(claimed).hooks.after_claim)
        except ImproperlyConfigured:
            return False  # `begin` says it

    def _begin(self, steps: Executor, execution: Execution) -> Outcome | BoundCall:
        self.between_tasks()
        return steps.begin(execution)
