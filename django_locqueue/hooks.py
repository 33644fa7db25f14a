"""Hooks: what a project does before a call is stored, when a worker has taken a task, and around its run.

A hook is an object of a class that the backend's ``MIDDLEWARE`` names, with any of ``before_enqueue(call)``,
``after_claim(task)`` and ``around_run(task, run)``.
"""

import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from asgiref.sync import async_to_sync, iscoroutinefunction, sync_to_async
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.utils import timezone
from django.utils.module_loading import import_string

from django_locqueue import compat
from django_locqueue.definition import TaskDefinition
from django_locqueue.exceptions import Cancel
from django_locqueue.policies.outcome import class_path
from django_locqueue.result import NOT_STORED, QueuedTaskResult
from django_locqueue.store import Claimed

logger = logging.getLogger("django_locqueue.hooks")

METHODS = ("before_enqueue", "after_claim", "around_run")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCall:
    """A call that is about to be stored. ``run_after``: None for at once. ``metadata``: empty if there is none."""

    definition: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    queue_name: str
    priority: int
    run_after: datetime | None
    metadata: Mapping[str, Any]

    @classmethod
    def of(cls, definition: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> "NewCall":
        return cls(
            definition=definition,
            args=args,
            kwargs=kwargs,
            queue_name=definition.queue_name,
            priority=definition.priority,
            run_after=definition.run_after,
            metadata=getattr(definition, "metadata", None) or {},
        )

    def changed(self, **changes: Any) -> "NewCall":
        """Return a copy with other values: ``call.changed(priority=5)``."""
        return replace(self, **changes)

    def varied_definition(self) -> Any:
        """Return the definition with what the hooks have changed. Raises ``InvalidTask`` for what it may not be."""
        definition = self.definition
        changes: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("queue_name", "priority", "run_after")
            if getattr(self, name) != getattr(definition, name)
        }
        if self.metadata != (getattr(definition, "metadata", None) or {}):
            changes["metadata"] = self.metadata
        if not changes:
            return definition
        if not isinstance(definition, TaskDefinition):  # Django's own class has no metadata
            values = {each.name: getattr(definition, each.name) for each in fields(definition)}
            return TaskDefinition(**{**values, **changes})
        return replace(definition, **changes)


class Dropped(NamedTuple):
    """Instead of a call: a hook wants nothing stored. ``by``: its path."""

    by: str
    call: NewCall


def dropped_result(dropped: Dropped) -> QueuedTaskResult:
    """Return the result of a call that a hook has dropped: FAILED, as a cancelled task is for Django."""
    call = dropped.call
    reason = compat.TaskError(
        exception_class_path=class_path(Cancel), traceback=f"dropped by {dropped.by} before it was enqueued"
    )
    return QueuedTaskResult(
        task=call.definition,
        id=NOT_STORED,
        status=compat.TaskResultStatus.FAILED,
        enqueued_at=None,
        started_at=None,
        finished_at=timezone.now(),
        last_attempted_at=None,
        args=list(call.args),
        kwargs=dict(call.kwargs),
        backend=call.definition.backend,
        errors=[reason],
        worker_ids=[],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedTask:
    """A task that this worker has taken and is about to run. ``attempt``: from 1.

    ``chunk``: around the call of a chunk, all tasks that are in it, this one first; else empty.
    """

    id: str
    definition: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    queue_name: str
    priority: int
    attempt: int
    metadata: Mapping[str, Any]
    enqueued_at: datetime
    worker_name: str
    chunk: Sequence["ClaimedTask"] = ()

    @classmethod
    def of(cls, claimed: Claimed, definition: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> "ClaimedTask":
        return cls(
            id=str(claimed.id),
            definition=definition,
            args=args,
            kwargs=kwargs,
            queue_name=claimed.queue_name,
            priority=claimed.priority,
            attempt=claimed.attempt,
            metadata=_metadata_of(claimed),
            enqueued_at=claimed.enqueued_at,
            worker_name=claimed.worker_name,
        )


def _metadata_of(claimed: Claimed) -> dict[str, Any]:
    try:
        metadata = json.loads(claimed.metadata or "{}")
    except ValueError:  # edited by hand
        return {}
    return metadata if isinstance(metadata, dict) else {}


class Hooks:
    """The hooks of one backend, in the order of its ``MIDDLEWARE``: the first is the outermost.

    A method that no hook has is an empty list here, and costs nothing. Raises ImproperlyConfigured.
    """

    def __init__(self, paths: Iterable[str] = ()) -> None:
        made = [(path, make(path)) for path in paths]
        self.before_enqueue: list[tuple[str, Callable[[NewCall], Any]]] = [
            (path, hook.before_enqueue) for path, hook in made if hasattr(hook, "before_enqueue")
        ]
        self.after_claim: list[Callable[[ClaimedTask], object]] = [
            hook.after_claim for _, hook in made if hasattr(hook, "after_claim")
        ]
        self.around_run: list[Any] = [hook for _, hook in made if hasattr(hook, "around_run")]
        self.has_run_hooks = bool(self.after_claim or self.around_run)

    def ask(
        self, definition: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Dropped | tuple[Any, Sequence[Any], Mapping[str, Any]]:
        """Return the definition and the arguments as the hooks want them stored.

        What one raises is raised to whoever enqueues.
        """
        call = NewCall.of(definition, args, kwargs)
        for path, before_enqueue in self.before_enqueue:
            answer = before_enqueue(call)
            if answer is None:
                logger.info("%s was dropped by %s before it was enqueued.", call.definition.module_path, path)
                return Dropped(path, call)
            if not isinstance(answer, NewCall) or answer.definition is not call.definition:
                raise TypeError(
                    f"{path}.before_enqueue must return the call, call.changed(...) with the same definition, or None "
                    f"to drop it, got {repr(answer)[:80]}."
                )
            call = answer
        return call.varied_definition(), call.args, call.kwargs

    def meet(
        self, claimed: Claimed, definition: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> ClaimedTask | None:
        """Show a claimed task to the hooks. Return what those around its run get; None if there are none."""
        task = ClaimedTask.of(claimed, definition, args, kwargs)
        for after_claim in self.after_claim:
            after_claim(task)
        return task if self.around_run else None

    def around(self, task: ClaimedTask, run: Callable[[], Any]) -> Callable[[], Any]:
        """Return the run of a function with the hooks around it, for a thread."""
        for hook in reversed(self.around_run):
            if iscoroutinefunction(hook.around_run):  # the function stays on this thread
                run = partial(async_to_sync(hook.around_run), task, sync_to_async(run))
            else:
                run = partial(hook.around_run, task, run)
        return run

    def around_async(self, task: ClaimedTask, run: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
        """Return the same for a coroutine function.

        As with Django's middleware, a hook that is a plain function is called on a thread, unless ``async_capable``
        says that it returns a coroutine if ``run`` is a coroutine function.
        """
        for hook in reversed(self.around_run):
            run = _around_async(hook, task, run)
        return run


def _around_async(hook: Any, task: ClaimedTask, run: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
    around: Callable[..., Awaitable[Any]] = hook.around_run
    inner: Callable[[], Any] = run
    if not iscoroutinefunction(around) and not getattr(hook, "async_capable", False):
        around, inner = sync_to_async(hook.around_run), async_to_sync(run)

    async def outer() -> Any:
        return await around(task, inner)

    return outer


def make(path: str) -> Any:
    """Return the hook of a class. Raises ImproperlyConfigured, saying what is wrong with it."""
    try:
        hook = import_string(path)()
    except Exception as error:
        raise ImproperlyConfigured(f"The hook {path!r} cannot be made: {type(error).__name__}: {error}") from error
    if not any(hasattr(hook, name) for name in METHODS):
        raise ImproperlyConfigured(f"The hook {path!r} has none of {', '.join(METHODS)}.")
    for name in METHODS[:2]:
        if iscoroutinefunction(getattr(hook, name, None)):
            raise ImproperlyConfigured(f"{path}.{name} must be a plain function; only around_run may be async.")
    return hook


_made: dict[tuple[str, tuple[str, ...]], Hooks] = {}
_making = threading.Lock()


def hooks_of(alias: str, paths: Iterable[str]) -> Hooks:
    """Return the hooks of a backend. Made once in a process, while Django makes a backend for each thread."""
    key = alias, tuple(paths)
    with _making:
        if key not in _made:
            _made[key] = Hooks(key[1])
        return _made[key]


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "TASKS":
        _made.clear()


setting_changed.connect(_forget)


def check_hooks(where: str, paths: Any) -> Iterator[checks.CheckMessage]:
    """System checks of ``MIDDLEWARE``."""
    hint = 'A list of dotted paths of classes: ["shop.hooks.Tenant"].'
    if not isinstance(paths, list | tuple):
        yield checks.Error(f"{where} must be a list, got {paths!r}.", hint=hint, id="locqueue.E032")
        return
    for path in paths:
        try:
            make(path)
        except ImproperlyConfigured as error:
            yield checks.Error(f"{where}: {error}", hint=hint, id="locqueue.E032")
