"""What is called when a task runs."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from inspect import iscoroutinefunction
from typing import Any, NamedTuple

from django_locqueue import compat
from django_locqueue.backend import LocQueueBackend
from django_locqueue.definition import TaskDefinition
from django_locqueue.hooks import ClaimedTask, Hooks
from django_locqueue.policies import expiry
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.policies.terms import load_terms
from django_locqueue.store import Claimed
from django_locqueue.worker.execution import Execution

is_async = lru_cache(maxsize=1000)(iscoroutinefunction)


class Way(NamedTuple):
    """How a definition's tasks run: its coroutine function on the event loop, its list of calls in chunks."""

    on_loop: bool = False
    in_chunks: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What all tasks of a definition and a backend have in common.

    ``options``: the definition, if it has ours. ``function``: what a thread calls. ``timeout``: seconds it may take.
    ``hooks``: of the backend.
    """

    definition: Any
    options: TaskDefinition | None
    function: Callable[..., Any]
    is_async: bool
    is_atomic: bool
    is_chunked: bool
    timeout: float | None
    hooks: Hooks

    @classmethod
    def of(cls, definition: Any, backend: LocQueueBackend) -> "Plan":
        options = definition if isinstance(definition, TaskDefinition) else None
        timeout = options.timeout if options else None
        if timeout is None:
            timeout = backend.timeout
        return cls(
            definition,
            options,
            # `call` asks each time whether the function is a coroutine's.
            partial(compat.Task.call, definition) if is_async(definition.func) else definition.func,
            is_async(definition.func),
            bool(options and options.atomic),
            bool(options and options.chunk),
            None if timeout == math.inf else timeout,
            backend.hooks,
        )


@dataclass(slots=True)
class BoundCall:
    """``hooked``: what the hooks around the run get; None: there are none."""

    plan: Plan
    args: list[Any]
    kwargs: dict[str, Any]
    hooked: ClaimedTask | None = None

    def __call__(self) -> Any:
        if self.hooked is None:
            return self.plan.function(*self.args, **self.kwargs)
        return self.plan.hooks.around(self.hooked, partial(self.plan.function, *self.args, **self.kwargs))()

    async def awaited(self) -> Any:
        """Await the function, if it is a coroutine function."""
        function = self.plan.definition.func
        if self.hooked is None:
            return await function(*self.args, **self.kwargs)
        return await self.plan.hooks.around_async(self.hooked, partial(function, *self.args, **self.kwargs))()


def expired(claimed: Claimed) -> Outcome | None:
    """Judge it at the first claim only: what is tried again has started in time."""
    if claimed.attempt > 1:
        return None
    could_start = max(claimed.run_after, claimed.enqueued_at)
    return expiry.expired(load_terms(claimed.terms).expires, could_start=could_start, begins=claimed.last_attempted_at)


def missed(execution: Execution) -> Outcome | None:
    """Give a task back that comes too late for its rate, which counts it as begun before."""
    if execution.start_by is None or time.monotonic() <= execution.start_by:
        return None
    return Outcome(Kind.RELEASED)


def holds_items(claimed: Claimed) -> bool:
    """Whether it may hold items of a list that are free from when it begins."""
    return claimed.terms is not None and load_terms(claimed.terms).unique_items
