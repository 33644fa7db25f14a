"""``@task`` and the definition that it makes: Django's ``Task`` with our options."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial
from typing import Any, overload

from django.utils.module_loading import import_string

from django_locqueue import compat, registry
from django_locqueue.connections import after_commits
from django_locqueue.exceptions import UnknownTask
from django_locqueue.policies import payload
from django_locqueue.policies.signature import check_arguments
from django_locqueue.policies.unique import Unique, rule_of
from django_locqueue.workflow import TaskCall

Backoff = Callable[[BaseException, Any], float] | float | Mapping[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDefinition(compat.Task):  # type: ignore[type-arg]
    """A function that can be enqueued, with its options. Made by :func:`task`, varied by :meth:`using`.

    ``max_attempts``: tries that may fail before the task does; None: the backend's ``MAX_ATTEMPTS``.
    ``backoff``: seconds between tries, or ``function(error, result) -> seconds``, or a dict like the backend's
    ``BACKOFF``; None: the backend's. ``retry_on``: exceptions that are retried; others fail the task at once.
    ``atomic``: the function's database work and its outcome commit together or not at all.
    ``timeout``: seconds that a try may take, then :class:`~django_locqueue.exceptions.TaskTimeout` is raised in it (an
    async function is cancelled); None: the backend's ``TIMEOUT``; ``float("inf")``: none, whatever the backend says.
    ``chunk``: the function is called once for up to so many waiting calls, with a list of
    :class:`~django_locqueue.policies.chunk.ChunkCall`; ``chunk_wait``: seconds that the first of them waits for others.
    ``keep_result=False``: the row is deleted on success. ``metadata``: JSON that travels with each call.
    ``rate_limit``: starts per time over all workers, such as ``"10/s"`` or ``"100/5m"``, shared by all tasks with the
    same ``rate_key``. ``concurrency``: how many may run at once over all workers, of all tasks with the same
    ``concurrency_key``. Keys are templates over the arguments, ``"shop-{shop_id}"``; without one, the limit is the
    definition's own.
    ``expires``: seconds from when it could first start; one that no worker has begun by then is cancelled.
    ``aliases``: the paths that the function had before; tasks that are stored under one of them run this definition.
    ``unique``: which calls are the same, and what becomes of the second; see :class:`~django_locqueue.Unique`.
    ``unique_key``: the key of a call, instead of what its arguments make of ``unique.key``.
    """

    max_attempts: int | None = None
    backoff: Backoff = field(default=None, hash=False)
    retry_on: tuple[type[BaseException], ...] = (Exception,)
    atomic: bool = False
    timeout: float | None = None
    keep_result: bool = True
    metadata: Mapping[str, Any] | None = field(default=None, hash=False)
    unique: Unique | None = None
    unique_key: str | None = None
    rate_limit: str | None = None
    rate_key: str | None = None
    concurrency: int | None = None
    concurrency_key: str | None = None
    chunk: int | None = None
    chunk_wait: float | None = None
    expires: float | None = None
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        compat.Task.__post_init__(self)  # not super(): slots make the class anew, which the plain form does not know
        registry.register(self)

    def using(
        self,
        *,
        priority: int | None = None,
        queue_name: str | None = None,
        run_after: datetime | None = None,
        backend: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        unique_key: str | None = None,
    ) -> "TaskDefinition":
        """Return a copy with other defaults; None leaves one as it is."""
        changes: dict[str, Any] = {
            "priority": priority,
            "queue_name": queue_name,
            "run_after": run_after,
            "backend": backend,
            "metadata": metadata,
            "unique_key": unique_key,
        }
        return replace(self, **{name: value for name, value in changes.items() if value is not None})

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the path of the function and what differs from the definition there.

        The module's name leads to the definition and not to the bare function, which pickle refuses; and a backoff
        may be a lambda.
        """
        there = definition_at(self.module_path)
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        if type(there) is not type(self) or there.func is not self.func:  # its module names it in another way
            return _rebuilt, (type(self), values)
        own = {name: value for name, value in values.items() if value != getattr(there, name)}
        return _revived, (self.module_path, own)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Return the call as a value, to be part of a workflow: ``chain(fetch.call(7), resize.call(7))``.

        It does not run the function, as Django's own ``call`` does for its backends: ``.func(7)`` does.
        """
        if _enqueued_elsewhere.get() is self:
            _enqueued_elsewhere.set(None)
            return compat.Task.call(self, *args, **kwargs)
        return TaskCall(self, args, kwargs)

    def enqueue(self, *args: Any, **kwargs: Any) -> Any:
        backend = self.get_backend()
        if hasattr(backend, "stores_in_locqueue"):
            return backend.enqueue(self, args, kwargs)  # type: ignore[arg-type]
        with _elsewhere(self):
            return backend.enqueue(self, args, kwargs)  # type: ignore[arg-type]

    async def aenqueue(self, *args: Any, **kwargs: Any) -> Any:
        backend = self.get_backend()
        with _elsewhere(self):
            return await backend.aenqueue(self, args, kwargs)  # type: ignore[arg-type]

    def enqueue_many(self, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]) -> Sequence[Any]:
        """Enqueue ``(args, kwargs)`` pairs, all or none, and return their results in order."""
        calls = list(calls)
        backend = self.get_backend()
        if not hasattr(backend, "enqueue_many"):  # Django's immediate and dummy backends, in tests
            return [self.enqueue(*args, **kwargs) for args, kwargs in pairs(calls)]
        results: Sequence[Any] = backend.enqueue_many(self, calls)
        return results

    def enqueue_on_commit(self, *args: Any, **kwargs: Any) -> None:
        """Enqueue when every transaction that is open in this thread has committed; at once if there is none.

        A plain :meth:`enqueue` already belongs to the transaction of the queue's database. This is for tasks whose
        data is on another alias, whichever that is. Where one of the transactions rolls back, nothing is enqueued.
        The arguments are checked now, while the caller can still mend them.
        """
        payload.dump_call(args, kwargs, lambda position: argument_name(self, position))
        if self.chunk is None:
            check_arguments(self.func, args, kwargs, takes_context=self.takes_context)
        if self.unique is not None:
            rule_of(self).check(args, kwargs)
        after_commits(partial(self.enqueue, *args, **kwargs))


@overload
def task(function: Callable[..., Any], /) -> TaskDefinition: ...


@overload
def task(
    *,
    priority: int = ...,
    queue_name: str = ...,
    backend: str = ...,
    takes_context: bool = ...,
    max_attempts: int | None = ...,
    backoff: Backoff = ...,
    retry_on: type[BaseException] | Iterable[type[BaseException]] = ...,
    atomic: bool = ...,
    timeout: float | None = ...,
    keep_result: bool = ...,
    metadata: Mapping[str, Any] | None = ...,
    unique: Unique | None = ...,
    rate_limit: str | None = ...,
    rate_key: str | None = ...,
    concurrency: int | None = ...,
    concurrency_key: str | None = ...,
    chunk: int | None = ...,
    chunk_wait: float | None = ...,
    expires: float | None = ...,
    aliases: str | Iterable[str] = ...,
) -> Callable[[Callable[..., Any]], TaskDefinition]: ...


def task(function: Any = None, **options: Any) -> Any:
    """Make a function a task: ``@task`` or ``@task(queue_name="mail", max_attempts=5, …)``.

    A typed superset of ``django.tasks.task``: its options and those of :class:`TaskDefinition`. With a backend that
    is not ours (Django's immediate one in tests) our options are accepted and have no effect.
    """
    for name in options.keys() & _OF_A_CALL:
        raise TypeError(f"{name} belongs to one call, not to the definition: use .using({name}=...).")
    if unknown := options.keys() - _OPTIONS:
        raise TypeError(f"@task has no option {', '.join(sorted(unknown))}. It has: {', '.join(sorted(_OPTIONS))}.")
    if "retry_on" in options:
        errors = options["retry_on"]
        options["retry_on"] = tuple(errors) if isinstance(errors, Iterable) else (errors,)
    if "aliases" in options:
        paths = options["aliases"]
        options["aliases"] = (paths,) if isinstance(paths, str) else tuple(paths)

    def define(func: Callable[..., Any]) -> TaskDefinition:
        alias = options.get("backend", compat.DEFAULT_TASK_BACKEND_ALIAS)
        task_class = compat.task_backends[alias].task_class
        if not issubclass(task_class, TaskDefinition):
            task_class = TaskDefinition
        definition: TaskDefinition = task_class(func=func, **{**_DEFAULTS, **options})
        return definition

    return define if function is None else define(function)


# Django 5.2's backport and 6.0 give these no defaults in the class.
_DEFAULTS = {
    "priority": compat.DEFAULT_TASK_PRIORITY,
    "queue_name": compat.DEFAULT_TASK_QUEUE_NAME,
    "backend": compat.DEFAULT_TASK_BACKEND_ALIAS,
    "takes_context": False,
    "run_after": None,
}
_OF_A_CALL = {"run_after", "unique_key"}
_OPTIONS = (set(TaskDefinition.__dataclass_fields__) | _DEFAULTS.keys()) - {"func"} - _OF_A_CALL


# Django's immediate backend runs the function by `call()` while it enqueues.
_enqueued_elsewhere: ContextVar[TaskDefinition | None] = ContextVar("enqueued_elsewhere", default=None)


@contextmanager
def _elsewhere(definition: TaskDefinition) -> Iterator[None]:
    token = _enqueued_elsewhere.set(definition)
    try:
        yield
    finally:
        _enqueued_elsewhere.reset(token)


def pairs(calls: Iterable[Any]) -> list[tuple[Sequence[Any], Mapping[str, Any]]]:
    """Return the calls of ``enqueue_many`` as a list. Raises TypeError for one that is no ``(args, kwargs)``."""
    checked = []
    for number, call in enumerate(calls):
        if type(call) is tuple and len(call) == 2 and type(call[0]) in (tuple, list) and type(call[1]) is dict:
            checked.append(call)  # as nearly all are; a pattern takes ten times as long
            continue
        match call:
            case (Sequence() as args, Mapping() as kwargs) if not isinstance(args, str | bytes):
                checked.append((args, kwargs))
            case _:
                raise TypeError(
                    f"enqueue_many takes (args, kwargs) pairs such as ((1,), {{}}), got {repr(call)[:80]} at {number}."
                )
    return checked


def argument_name(definition: Any, position: int) -> str:
    """Return the name of the parameter that takes a positional argument; ``args[2]`` if it is one of ``*args``."""
    if getattr(definition, "chunk", None) is not None:  # its one parameter takes the whole list
        return f"args[{position}]"
    names = _positional_names(definition.func)
    position_in_function = position + bool(definition.takes_context)  # the context is not among the arguments
    return names[position_in_function] if position_in_function < len(names) else f"args[{position}]"


@lru_cache(maxsize=256)
def _positional_names(function: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a callable that tells nobody
        return ()
    return tuple(each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD))


def resolve(path: str) -> Any:
    """Return the definition at ``path``. Raises :class:`UnknownTask` with the reason; runs nothing else.

    Only a definition can be run: a path from a table never leads to any other callable. What a broken module
    raises at import, SystemExit included, is the reason and nothing more. A path that is none of today's may be an
    alias of a definition.
    """
    try:
        found = import_string(path)
    except BaseException as error:
        if (renamed := registry.renamed(path)) is not None:
            return renamed
        raise UnknownTask(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    if isinstance(found, compat.Task):
        return found
    if (renamed := registry.renamed(path)) is not None:
        return renamed
    raise UnknownTask(f"{path} is not a task. Only functions with @task can be run.")


def definition_at(path: str) -> Any:
    """Return the definition at ``path``, or one that stands for it when there is none (any more)."""
    try:
        return resolve(path)
    except UnknownTask:
        return placeholder(path)


def restored(definition: Any, **stored: Any) -> Any:
    """Return a copy with the stored queue, priority, time and backend.

    Not validated: a row outlives the settings that it was enqueued under, and must stay readable.
    """
    if all(getattr(definition, name) == value for name, value in stored.items()):
        return definition
    values = {name: getattr(definition, name) for name in definition.__dataclass_fields__}
    return _rebuilt(type(definition), {**values, **stored})


def _revived(path: str, own: dict[str, Any]) -> Any:
    return restored(definition_at(path), **own)


def _rebuilt(task_class: type, values: Mapping[str, Any]) -> Any:
    definition: Any = object.__new__(task_class)
    for name, value in values.items():
        object.__setattr__(definition, name, value)
    return definition


@lru_cache(maxsize=256)
def placeholder(path: str) -> Any:
    """Return a definition that stands for one that is gone, so that its stored results can still be read."""

    def gone(*args: Any, **kwargs: Any) -> None:
        raise UnknownTask(f"{path} no longer exists in this version of the code.")

    gone.__module__, _, gone.__qualname__ = path.rpartition(".")
    gone.__name__ = gone.__qualname__
    usual = {name: _DEFAULTS.get(name, spec.default) for name, spec in TaskDefinition.__dataclass_fields__.items()}
    return _rebuilt(TaskDefinition, {**usual, "func": gone})
