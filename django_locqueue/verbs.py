"""What can be done to tasks by name: by a person in admin, by a command, and in the background to thousands.

Each verb is the store's, guarded by the states it may leave; here it has a name, a permission, and options that are
JSON, so that a row can hold them. The words for it are admin's.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

from django.db import InterfaceError, OperationalError

from django_locqueue import compat, endings, registry
from django_locqueue.definition import TaskDefinition, definition_at, resolve
from django_locqueue.models import FINISHED, WAITING, State, Task
from django_locqueue.models.task import queue_name_problem
from django_locqueue.policies import masking, payload
from django_locqueue.store import Store

logger = logging.getLogger("django_locqueue")

COPY_OF = "copy_of"  # in the metadata of a task that was enqueued again: the id of the first
BULK_PERMISSION = "locqueue.bulk_task"  # for more than a page of tasks, besides the verb's own
RETRYABLE = (State.FAILED, State.CANCELLED)


class Asked(NamedTuple):
    """Who asks for a change, why, and what it needs besides; see :data:`OPTIONS`."""

    by: str = ""
    reason: str = ""
    options: Mapping[str, Any] = MappingProxyType({})


class Applied(NamedTuple):
    """Ids: what was changed, what is running and was only asked to stop, and the new tasks that were made."""

    done: list[int]
    asked: list[int] = []
    made: list[int] = []


@dataclass(frozen=True)
class Verb:
    """``codename``: of the permission it asks for. ``states``: in which it can be done; the store judges again.

    ``needs``, ``takes``: names of options. ``apply``: called with checked options.
    """

    name: str
    codename: str
    states: tuple[State, ...]
    apply: Callable[[Store, Sequence[int], Asked], Applied]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    @property
    def permission(self) -> str:
        return f"locqueue.{self.codename}"

    def __call__(
        self,
        store: Store,
        ids: Sequence[int],
        *,
        by: str = "",
        reason: str = "",
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> Applied:
        """Do it to those of the tasks that it can be done to. Raises ValueError for options that it cannot be."""
        return self.apply(store, ids, Asked(by, reason, self.checked(options)))

    def checked(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options as values. Raises ValueError with what is wrong."""
        if wrong := sorted(options.keys() - {*self.needs, *self.takes}):
            raise ValueError(f"{self.name} has no option {', '.join(wrong)}; it has {self.needs + self.takes}.")
        if missing := [name for name in self.needs if options.get(name) is None]:
            raise ValueError(f"{self.name} needs {', '.join(missing)}.")
        return {name: OPTIONS[name](value) for name, value in options.items() if value is not None}


def _moment(value: Any) -> datetime:
    if not isinstance(value, str):
        raise ValueError(f"run_after must be a time in ISO format, got {value!r:.80}.")
    return datetime.fromisoformat(value)


def _queue_name(value: Any) -> str:
    if problem := queue_name_problem(value):
        raise ValueError(f"queue_name {problem}")
    return str(value)


def _priority(value: Any) -> int:
    least, most = compat.TASK_MIN_PRIORITY, compat.TASK_MAX_PRIORITY
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"priority must be a whole number from {least} to {most}, got {value!r:.80}.")
    return value


# The options of all verbs, as JSON has them, and what reads each.
OPTIONS: dict[str, Callable[[Any], Any]] = {
    "run_after": _moment,  # "2026-12-01T15:00:00+00:00"
    "queue_name": _queue_name,
    "priority": _priority,
    "fresh_attempts": bool,  # as many attempts as a new task of its kind
}


def _retry(store: Store, ids: Sequence[int], asked: Asked) -> Applied:
    run_after = asked.options.get("run_after")
    if not asked.options.get("fresh_attempts"):
        return Applied(store.requeue(ids, run_after=run_after, by=asked.by))
    alike: dict[int, list[int]] = {}
    for task in store.tasks.filter(pk__in=ids).only("id", "task_path", "backend_alias"):
        alike.setdefault(_attempts_of(task), []).append(task.pk)
    done: list[int] = []
    for attempts, some in alike.items():
        done += store.requeue(some, run_after=run_after, attempts=attempts, by=asked.by)
    return Applied(sorted(done))


def _attempts_of(task: Task) -> int:
    """Return how many attempts a new task of its kind has."""
    backend = registry.our_backend(task.backend_alias)
    own = getattr(definition_at(task.task_path), "max_attempts", None)
    return int(own or (backend.max_attempts if backend is not None else 1))


def _again(store: Store, ids: Sequence[int], asked: Asked) -> Applied:
    """Enqueue the same calls anew. Those of workflows are left out: their place is taken."""
    done, made = [], []
    for task in store.tasks.filter(pk__in=ids, state__in=FINISHED, workflow=None).order_by("id"):
        try:
            with store.transaction():
                copy = _enqueued_again(task)
        except (InterfaceError, OperationalError):
            raise
        except Exception as error:
            # Its function is gone, its queue is full, a hook refuses it: the others are not kept back.
            logger.warning("Task #%d was not enqueued again: %s", task.pk, masking.mask_text(str(error)))
            continue
        if copy is not None:
            done.append(task.pk)
            made.append(copy)
    return Applied(done, made=made)


def _enqueued_again(task: Task) -> int | None:
    """Return the id of the new task; None if a hook dropped it, or another holds its unique key."""
    args, kwargs = payload.call_of(task.args_kwargs)
    # Where and how it was asked for stays true: its language, its time zone. The slot of a schedule is over.
    metadata = task.metadata if isinstance(task.metadata, dict) else {}
    metadata = {name: value for name, value in metadata.items() if name != "schedule"} | {COPY_OF: task.pk}
    definition = resolve(task.task_path)
    own = {"metadata": metadata} if isinstance(definition, TaskDefinition) else {}  # Django's plain ones have none
    definition = definition.using(queue_name=task.queue_name, priority=task.priority, backend=task.backend_alias, **own)
    result = definition.get_backend().enqueue(definition, args, kwargs)
    return None if result.is_duplicate or result.is_dropped else int(result.id)


_VERBS = (
    Verb("retry", "retry_task", RETRYABLE, _retry, takes=("run_after", "fresh_attempts")),
    Verb("run", "run_task", (State.SCHEDULED,), lambda store, ids, asked: Applied(store.run_now(ids))),
    Verb(
        "cancel",
        "cancel_task",
        (*WAITING, State.RUNNING),
        lambda store, ids, asked: Applied(*endings.cancel(store, ids, asked.reason, by=asked.by)),
    ),
    Verb(
        "stop",
        "cancel_task",
        (State.SCHEDULED,),  # those that failed before
        lambda store, ids, asked: Applied(
            *endings.cancel(store, ids, asked.reason, by=asked.by, only_retrying=True),
        ),
    ),
    Verb("delete", "delete_task", (*WAITING, *FINISHED), lambda store, ids, asked: Applied(store.delete(ids))),
    Verb("again", "retry_task", FINISHED, _again),
    Verb("dismiss", "retry_task", (State.FAILED,), lambda store, ids, asked: Applied(store.dismiss(ids))),
    Verb(
        "put_back",
        "run_task",
        (State.RUNNING,),  # those whose worker does not answer
        lambda store, ids, asked: Applied(endings.put_back(store, ids)),
    ),
    Verb(
        "change_time",
        "run_task",
        WAITING,
        lambda store, ids, asked: Applied(store.change_time(ids, asked.options["run_after"])),
        needs=("run_after",),
    ),
    Verb(
        "move",
        "run_task",
        WAITING,
        lambda store, ids, asked: Applied(store.move(ids, asked.options["queue_name"])),
        needs=("queue_name",),
    ),
    Verb(
        "change_priority",
        "run_task",
        WAITING,
        lambda store, ids, asked: Applied(store.change_priority(ids, asked.options["priority"])),
        needs=("priority",),
    ),
)

VERBS: Mapping[str, Verb] = MappingProxyType({verb.name: verb for verb in _VERBS})
