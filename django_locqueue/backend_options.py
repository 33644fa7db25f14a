"""What an entry of ``TASKS`` and the options of a definition may say, and what is wrong with them."""

import inspect
import math
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.core import checks
from django.utils import timezone

from django_locqueue import clock, compat
from django_locqueue.conf import did_you_mean, place
from django_locqueue.definition import TaskDefinition
from django_locqueue.hooks import check_hooks
from django_locqueue.models.task import PATH_LENGTH, queue_name_problem
from django_locqueue.pending_limit import check_max_pending
from django_locqueue.policies import chunk, payload, retry
from django_locqueue.policies.limits import limits_of
from django_locqueue.policies.numbers import is_number, is_whole

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
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def queue_names(params: Mapping[str, Any]) -> list[str]:
    """Return the names in ``QUEUES``. What is no name stays there as one that nobody uses: else all were allowed."""
    given = params.get("QUEUES", [compat.DEFAULT_TASK_QUEUE_NAME])
    names = given if isinstance(given, list | tuple | set | frozenset) else [given]
    return [name if isinstance(name, str) else repr(name) for name in names]


def time_problem(run_after: Any) -> str | None:
    """Return what is wrong with a task's time, None if nothing is."""
    if run_after is None:
        return None
    if not isinstance(run_after, datetime) or (settings.USE_TZ and timezone.is_naive(run_after)):
        wanted = "an aware datetime" if settings.USE_TZ else "a datetime"
        return f"run_after must be {wanted}, got {run_after!r}. For instance: timezone.now() + timedelta(minutes=5)."
    try:
        if timezone.is_aware(run_after):
            clock.storable(run_after.astimezone(UTC))
    except OverflowError:  # the driver fails at it, perhaps after the row is stored
        return f"run_after must be in the years 1 to 9999 of UTC too, got {run_after!r}."
    return None


def validate_options(task: TaskDefinition) -> None:
    if inspect.isgeneratorfunction(task.func) or inspect.isasyncgenfunction(task.func):
        raise compat.InvalidTask(
            f"{task.func.__name__} has a yield: calling it makes a generator, and none of its code runs. "
            "Return a list instead, or enqueue a task for each item."
        )
    most = task.max_attempts
    if most is not None and not is_whole(most, 1, MOST_ATTEMPTS):
        raise compat.InvalidTask(f"max_attempts must be a whole number from 1 to {MOST_ATTEMPTS:,}, got {most!r}.")
    for error in task.retry_on:
        if not isinstance(error, type) or not issubclass(error, BaseException):
            raise compat.InvalidTask(f"retry_on must hold exception classes, got {error!r}.")
    if task.expires is not None and not (_is_seconds(task.expires) and task.expires > 0):
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
    if backoff is None or _is_seconds(backoff):
        return None
    if callable(backoff):
        return _backoff_function_problem(backoff)
    if not isinstance(backoff, Mapping):
        return f"must be seconds, a function or a dict with {', '.join(retry.BACKOFF)}, got {backoff!r}."
    for key, value in backoff.items():
        if key not in retry.BACKOFF:
            return f"has no key {key!r}{did_you_mean(key, retry.BACKOFF)}"
        if not _is_seconds(value):
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
    return value is None or (is_number(value, 0, math.inf) and value > 0)


def _is_seconds(value: Any) -> bool:
    return is_number(value, 0, retry.LONGEST_SECONDS)


def _sentence(text: str) -> str:
    text = text.lstrip("; ")
    return f"{text[0].upper()}{text[1:]}"


def check_entry(alias: str, params: Mapping[str, Any]) -> Iterable[checks.CheckMessage]:
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
        if problem := queue_name_problem(name):
            yield checks.Error(
                f"Each name in {place('TASKS', alias, 'QUEUES')} {problem}",
                hint="Write [] for any name.",
                id="locqueue.E015",
            )


def check_options(alias: str, options: Any, queues: Collection[str]) -> Iterable[checks.CheckMessage]:
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
        if not is_whole(value, 1, MOST_ATTEMPTS):
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
        elif days is not None and not is_number(days, 0, MOST_DAYS):
            yield checks.Error(
                f'{where}["RETENTION"]["{key}"] must be a number of days up to {MOST_DAYS:,}, 0 or None, got {days!r}.',
                id="locqueue.E005",
            )
