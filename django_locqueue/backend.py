"""The backend of Django's task framework: what a project names in ``TASKS``."""

import inspect
import logging
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.conf import settings
from django.core import checks
from django.utils import timezone

from django_locqueue import clock, compat, endings, uniqueness
from django_locqueue.conf import did_you_mean, place
from django_locqueue.definition import TaskDefinition, argument_name, pairs
from django_locqueue.hooks import Dropped, Hooks, check_hooks, dropped_result, hooks_of
from django_locqueue.models import State
from django_locqueue.models.task import KEY_LENGTH, NAME_LENGTH, PATH_LENGTH
from django_locqueue.pending_limit import PendingLimit, admit, check_max_pending, pending_limits
from django_locqueue.policies import chunk, payload, retry
from django_locqueue.policies.limits import limits_of
from django_locqueue.policies.terms import Terms
from django_locqueue.result import NewResults, QueuedTaskResult, new_result, stored_result
from django_locqueue.store import Call, Store, get_store
from django_locqueue.workflow_backend import WorkflowBackend

OPTIONS: Mapping[str, Any] = {
    "DATABASE": None,  # the alias that holds the queue; None: where the database routers write it
    "MAX_ATTEMPTS": 1,  # tries on exceptions; 1: do not retry. A task that was lost to a crash always runs again
    "MAX_CRASHES": 3,  # then it is failed: its worker died while running it
    "BACKOFF": retry.BACKOFF,  # seconds
    "TIMEOUT": None,  # seconds that a try may take; None: any time
    "RETENTION": {"SUCCESSFUL": 7, "FAILED": 30, "CANCELLED": 30},  # days; None: for ever; 0: delete at once
    "MAX_PENDING": {},  # {"queue": n}: so many tasks may wait there, then enqueue raises QueueFull
    "MIDDLEWARE": [],  # dotted paths of hooks; the first is the outermost
}

ENTRY = ("BACKEND", "QUEUES", "OPTIONS")  # the keys of an entry of TASKS
MOST_ATTEMPTS = 32_767  # what the smallest column that counts them holds
MOST_DAYS = 36_500
MOST_VALID = 1000  # definitions that a backend remembers
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")
_ID = re.compile(r"[0-9]{1,18}", re.ASCII)


class LocQueueBackend(WorkflowBackend, compat.BaseTaskBackend):
    """Tasks in the project's own database."""

    task_class = TaskDefinition
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True
    stores_in_locqueue = True  # tells `conf.our_backends`, which cannot import this class

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        # A backend can be made of any settings: the system check that says what is wrong with them needs one to ask.
        super().__init__(alias, {**params, "QUEUES": _queue_names(params)})
        self.params = params
        self._valid: dict[int, Any] = {}

    @property
    def store(self) -> Store:
        return get_store(self.alias)

    @property
    def database(self) -> str:
        """The alias of the database that holds the queue."""
        return self.store.alias

    @property
    def max_attempts(self) -> int:
        return self._option("MAX_ATTEMPTS")  # type: ignore[no-any-return]

    @property
    def max_crashes(self) -> int:
        return self._option("MAX_CRASHES")  # type: ignore[no-any-return]

    @cached_property
    def backoff(self) -> Mapping[str, float]:
        return {**retry.BACKOFF, **self._option("BACKOFF")}

    @cached_property
    def retention(self) -> Mapping[str, float | None]:
        """Days that a finished task is kept, by state."""
        days = {**OPTIONS["RETENTION"], **self._option("RETENTION")}
        return {state.lower(): kept for state, kept in days.items()}

    @cached_property
    def timeout(self) -> float | None:
        """Seconds that a try may take where the definition says nothing."""
        return self._option("TIMEOUT")  # type: ignore[no-any-return]

    @cached_property
    def forgotten(self) -> frozenset[str]:
        """The states whose rows are deleted at once."""
        return frozenset(state for state, days in self.retention.items() if days == 0)

    @cached_property
    def hooks(self) -> Hooks:
        """Raises ImproperlyConfigured for one that cannot be made."""
        return hooks_of(self.alias, self._option("MIDDLEWARE"))

    @cached_property
    def pending_limits(self) -> Mapping[str, PendingLimit]:
        """The limits of ``MAX_PENDING`` by queue."""
        limits = self._option("MAX_PENDING")
        return pending_limits(self.database, limits) if limits else {}

    def _option(self, name: str) -> Any:
        return self.options.get(name, OPTIONS[name])

    # -- the contract of django.tasks

    def validate_task(self, task: Any) -> None:
        """Raise ``InvalidTask`` for a definition that cannot be stored or run, saying why."""
        name = task.queue_name
        if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH or not name.isprintable():
            raise compat.InvalidTask(f"queue_name must be 1 to {NAME_LENGTH} printable characters, got {name!r}.")
        priority, least, most = task.priority, compat.TASK_MIN_PRIORITY, compat.TASK_MAX_PRIORITY
        if not isinstance(priority, int | float) or not least <= priority <= most or int(priority) != priority:
            raise compat.InvalidTask(f"priority must be a whole number from {least} to {most}, got {priority!r}.")
        if problem := _time_problem(task.run_after):
            raise compat.InvalidTask(problem)
        super().validate_task(task)
        if len(task.module_path) > PATH_LENGTH:
            raise compat.InvalidTask(f"The path {task.module_path} is longer than {PATH_LENGTH} characters.")
        if isinstance(task, TaskDefinition):
            _validate_options(task)
            if problem := uniqueness.problem(task, lambda: self.retention):
                raise compat.InvalidTask(problem)

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> QueuedTaskResult:
        """Store a call, in the caller's transaction if there is one, and return its result.

        Raises TypeError or ValueError before any SQL for arguments that JSON cannot hold, naming the argument, and
        ``QueueFull`` where ``MAX_PENDING`` leaves no room.
        """
        self._validate_once(task)
        if self.hooks.before_enqueue:
            asked = self.hooks.ask(task, args, kwargs)
            if isinstance(asked, Dropped):
                return dropped_result(asked)
            task, args, kwargs = asked
        if self.pending_limits or getattr(task, "unique", None) is not None:
            [result] = self._store_many(task, [(args, kwargs)])
            return result
        enqueued = self.store.enqueue(next(self._calls(task, [(args, kwargs)])))
        result = new_result(task, enqueued.id, enqueued.enqueued_at, args, kwargs)
        if compat.is_heard(compat.task_enqueued, logging.DEBUG):
            compat.task_enqueued.send(type(self), task_result=result)
        return result

    def enqueue_many(
        self, task: Any, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]
    ) -> Sequence[QueuedTaskResult]:
        """Store many calls of one task, all or none; return their results in order."""
        self._validate_once(task)
        if not self.hooks.before_enqueue:
            return self._store_many(task, pairs(calls))
        asked = [self.hooks.ask(task, args, kwargs) for args, kwargs in pairs(calls)]
        kept = [each for each in asked if not isinstance(each, Dropped)]
        new: list[QueuedTaskResult] = []
        with self.store.transaction():
            for varied, alike in groupby(kept, itemgetter(0)):
                new += self._store_many(varied, [(args, kwargs) for _, args, kwargs in alike])
        results = iter(new)
        return [dropped_result(each) if isinstance(each, Dropped) else next(results) for each in asked]

    def _store_many(self, task: Any, arguments: Sequence[uniqueness.Arguments]) -> Sequence[QueuedTaskResult]:
        calls = list(self._calls(task, arguments))
        if self.pending_limits:
            admit(calls, self.pending_limits, self.store.count_pending)
        results: Sequence[QueuedTaskResult]
        if getattr(task, "unique", None) is not None:
            results = uniqueness.enqueue(self.store, task, arguments, calls)
        else:
            results = NewResults(task, self.store.enqueue_many(calls), [call.args_kwargs for call in calls])
        if compat.is_heard(compat.task_enqueued, logging.DEBUG):
            for result in results:
                if not result.is_duplicate:
                    compat.task_enqueued.send(type(self), task_result=result)
        return results

    def get_result(self, result_id: str | int) -> QueuedTaskResult:
        """Return the result of a stored task. Raises ``TaskResultDoesNotExist``, also for a malformed id.

        An id is text to Django; a number is taken too, as the rows and the log have it.
        """
        if type(result_id) is int and 0 <= result_id < 10**18:
            result_id = str(result_id)
        if not isinstance(result_id, str) or not _ID.fullmatch(result_id):
            raise compat.TaskResultDoesNotExist(result_id)
        task = self.store.tasks.filter(pk=int(result_id)).first()
        if task is None:
            raise compat.TaskResultDoesNotExist(result_id)
        return stored_result(task)

    def cancel(self, ids: Sequence[int], reason: str = "", *, by: str = "") -> tuple[list[int], list[int]]:
        """Cancel waiting tasks at once and ask running ones to stop. Return the ids of both.

        ``by``: who asks for it. It stands with the reason in what the task ends with.
        """
        return endings.cancel(self.store, ids, reason, by=by)

    def checked_calls(self, task: Any, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]) -> Iterator[Call]:
        """Return what is to be stored of calls of a definition. Raises as :meth:`enqueue` does, and stores nothing."""
        self._validate_once(task)
        return self._calls(task, calls)

    def check(self, **kwargs: Any) -> list[checks.CheckMessage]:
        """System checks of this backend's entry in ``TASKS``; Django's own check of the task framework calls it."""
        return [*_check_entry(self.alias, self.params), *_check_options(self.alias, self.options, self.queues)]

    def _validate_once(self, task: Any) -> None:
        """Validate a definition at its first call; neither it nor the settings of this backend ever change."""
        if self._valid.get(id(task)) is not task:
            self.validate_task(task)
            if len(self._valid) >= MOST_VALID:  # `using()` makes a new one at each call
                self._valid.clear()
            self._valid[id(task)] = task

    def _calls(self, task: Any, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]) -> Iterator[Call]:
        options = task if isinstance(task, TaskDefinition) else None
        name_of = partial(argument_name, task)
        same: dict[str, Any] = {
            "task_path": task.module_path,
            "queue_name": task.queue_name,
            "priority": int(task.priority),
            "run_after": None if task.run_after is None else clock.storable(task.run_after),
            "max_attempts": (options and options.max_attempts) or self.max_attempts,
            "backend_alias": self.alias,
            "metadata": payload.dump(options.metadata) if options and options.metadata else None,
        }
        limits = limits_of(options) if options else None
        usual: dict[str, Any] = {}
        if options and options.expires is not None:
            usual["expires"] = float(options.expires)
            same["extra"] = (("terms", Terms(**usual).dump()),)
        for args, kwargs in calls:
            call = Call(args_kwargs=payload.dump_call(args, kwargs, name_of), **same)
            if limits is not None:
                limit_key, terms = limits.of_call(args, kwargs, KEY_LENGTH)
                extra = (("limit_key", limit_key), ("terms", Terms(**usual, **terms).dump()))
                call = call._replace(turn=State.BLOCKED, extra=extra)
            yield call


def _queue_names(params: Mapping[str, Any]) -> list[str]:
    """Return the names in ``QUEUES``. What is no name stays there as one that nobody uses: else all were allowed."""
    given = params.get("QUEUES", [compat.DEFAULT_TASK_QUEUE_NAME])
    names = given if isinstance(given, list | tuple | set | frozenset) else [given]
    return [name if isinstance(name, str) else repr(name) for name in names]


def _time_problem(run_after: Any) -> str | None:
    """Return what is wrong with a task's time, None if nothing is."""
    wanted = "an aware datetime" if settings.USE_TZ else "a datetime"
    if run_after is None or (
        isinstance(run_after, datetime) and not (settings.USE_TZ and timezone.is_naive(run_after))
    ):
        return None
    return f"run_after must be {wanted}, got {run_after!r}. For instance: timezone.now() + timedelta(minutes=5)."


def _validate_options(task: TaskDefinition) -> None:
    most = task.max_attempts
    if most is not None and not _is_limit(most):
        raise compat.InvalidTask(f"max_attempts must be a whole number from 1 to {MOST_ATTEMPTS:,}, got {most!r}.")
    for error in task.retry_on:
        if not isinstance(error, type) or not issubclass(error, BaseException):
            raise compat.InvalidTask(f"retry_on must hold exception classes, got {error!r}.")
    if task.expires is not None and not (_is_number(task.expires) and task.expires > 0):
        raise compat.InvalidTask(f"expires must be a number of seconds above 0, or None, got {task.expires!r}.")
    for alias in task.aliases:
        if not isinstance(alias, str) or not _PATH.fullmatch(alias) or len(alias) > PATH_LENGTH:
            raise compat.InvalidTask(f'aliases must hold paths such as "shop.tasks.old_name", got {alias!r}.')
    if problem := _backoff_problem(task.backoff):
        raise compat.InvalidTask(f"backoff {problem}")
    if not _is_timeout(task.timeout):
        raise compat.InvalidTask(f"timeout {_TIMEOUT}, got {task.timeout!r}.")
    if problem := chunk.problem(task.func, task.chunk, task.chunk_wait, takes_context=task.takes_context):
        raise compat.InvalidTask(problem)
    if task.chunk is not None and task.atomic:
        raise compat.InvalidTask(
            "chunk and atomic=True cannot go together: the calls of a chunk may end differently, and one transaction "
            "cannot. Open transaction.atomic() in the function, around what belongs together."
        )
    try:
        limits_of(task)
    except ValueError as error:
        raise compat.InvalidTask(str(error)) from None
    if task.metadata is not None:
        try:
            payload.dump_call([dict(task.metadata)], {})
        except (TypeError, ValueError) as error:
            raise compat.InvalidTask(f"metadata must be a dict that JSON can hold: {error}") from error


def _backoff_problem(backoff: Any) -> str | None:
    """Return what is wrong with a backoff, None if nothing is."""
    if backoff is None or _is_number(backoff):
        return None
    if callable(backoff):
        return _backoff_function_problem(backoff)
    if not isinstance(backoff, Mapping):
        return f"must be seconds, a function or a dict with {', '.join(retry.BACKOFF)}, got {backoff!r}."
    for key, value in backoff.items():
        if key not in retry.BACKOFF:
            return f"has no key {key!r}{did_you_mean(key, retry.BACKOFF)}"
        if not _is_number(value):
            return f"must hold numbers from 0 to {retry.LONGEST_SECONDS:,}, got {key}: {value!r}."
    return None


def _backoff_function_problem(backoff: Any) -> str | None:
    if inspect.iscoroutinefunction(backoff):
        return "must not be a coroutine function: it is called on the thread that has run the task."
    try:
        signature = inspect.signature(backoff)
    except (TypeError, ValueError):  # a callable that tells nobody
        return None
    try:
        signature.bind(Exception(), None)
    except TypeError:
        return f"is called with the error and the task's result: function(error, result). This one takes {signature}."
    return None


_TIMEOUT = "must be a number of seconds above 0, or None"


def _is_timeout(value: Any) -> bool:
    """Also infinity: no timeout, whatever else says one."""
    return value is None or (_is_number(value, math.inf) and value > 0)


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_ATTEMPTS


def _is_number(value: Any, most: float = retry.LONGEST_SECONDS) -> bool:
    # No datetime can hold what is later than `most`; nan is not between anything.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most


def _sentence(text: str) -> str:
    text = text.lstrip("; ")
    return f"{text[0].upper()}{text[1:]}"


def _check_entry(alias: str, params: Mapping[str, Any]) -> Iterable[checks.CheckMessage]:
    for key in params.keys() - ENTRY:
        meant = key.upper() if isinstance(key, str) else key
        belongs = f"It belongs into {place('TASKS', alias, 'OPTIONS')}." if meant in OPTIONS else ""
        yield checks.Error(
            f"{place('TASKS', alias)} has the unknown key {key!r}.",
            hint=belongs or _sentence(did_you_mean(key, ENTRY)),
            id="locqueue.E009",
        )
    queues = params.get("QUEUES", [])
    if not isinstance(queues, list | tuple | set | frozenset):
        yield checks.Error(
            f"{place('TASKS', alias, 'QUEUES')} must be a list of names, got {queues!r}.",
            hint='Write ["default", "mail"], or [] for any name.',
            id="locqueue.E015",
        )
        return
    for name in queues:
        if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH or not name.isprintable():
            yield checks.Error(
                f"{place('TASKS', alias, 'QUEUES')} must hold names of 1 to {NAME_LENGTH} printable characters, "
                f"got {name!r}.",
                hint="Write [] for any name.",
                id="locqueue.E015",
            )


def _check_options(alias: str, options: Any, queues: Collection[str]) -> Iterable[checks.CheckMessage]:
    where = place("TASKS", alias, "OPTIONS")
    if not isinstance(options, Mapping):
        yield checks.Error(f"{where} must be a dict, got {options!r}.", id="locqueue.E001")
        return
    for key in options.keys() - OPTIONS.keys():
        yield checks.Error(
            f"{where} has the unknown key {key!r}.",
            hint=_sentence(did_you_mean(key, OPTIONS)),
            id="locqueue.E002",
        )
    for key in ("MAX_ATTEMPTS", "MAX_CRASHES"):
        value = options.get(key, OPTIONS[key])
        if not _is_limit(value):
            yield checks.Error(
                f'{where}["{key}"] must be a whole number from 1 to {MOST_ATTEMPTS:,}, got {value!r}.',
                id="locqueue.E003",
            )
    backoff = options.get("BACKOFF", OPTIONS["BACKOFF"])
    problem = "must be a dict." if not isinstance(backoff, Mapping) else _backoff_problem(backoff)
    if problem:
        yield checks.Error(f'{where}["BACKOFF"] {problem}', id="locqueue.E004")
    if not _is_timeout(timeout := options.get("TIMEOUT")):
        yield checks.Error(f'{where}["TIMEOUT"] {_TIMEOUT}, got {timeout!r}.', id="locqueue.E016")
    yield from _check_retention(where, options.get("RETENTION", OPTIONS["RETENTION"]))
    yield from check_max_pending(f'{where}["MAX_PENDING"]', options.get("MAX_PENDING", {}), queues)
    yield from check_hooks(f'{where}["MIDDLEWARE"]', options.get("MIDDLEWARE", []))


def _check_retention(where: str, retention: Any) -> Iterable[checks.CheckMessage]:
    known = OPTIONS["RETENTION"]
    if not isinstance(retention, Mapping):
        yield checks.Error(f'{where}["RETENTION"] must be a dict, got {retention!r}.', id="locqueue.E005")
        return
    for key, days in retention.items():
        if key not in known:
            yield checks.Error(
                f'{where}["RETENTION"] has the unknown key {key!r}{did_you_mean(key, known)}', id="locqueue.E005"
            )
        elif days is not None and not _is_number(days, MOST_DAYS):
            yield checks.Error(
                f'{where}["RETENTION"]["{key}"] must be a number of days up to {MOST_DAYS:,}, 0 or None, got {days!r}.',
                id="locqueue.E005",
            )
