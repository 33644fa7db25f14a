"""Django's public view of a stored task, and what may be done to it."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

from django.db.models import QuerySet

from django_locqueue import compat, registry
from django_locqueue.definition import definition_at, restored
from django_locqueue.models import FINISHED, State, Task, TaskAttempt
from django_locqueue.policies import payload
from django_locqueue.store import Claimed, Enqueued

NOT_STORED = "0"  # the id of a result that has no row
_ID = re.compile(r"[0-9]{1,18}", re.ASCII)

STATUSES: dict[str, Any] = {
    State.SCHEDULED: compat.TaskResultStatus.READY,
    State.READY: compat.TaskResultStatus.READY,
    State.BLOCKED: compat.TaskResultStatus.READY,
    State.RUNNING: compat.TaskResultStatus.RUNNING,
    State.SUCCESSFUL: compat.TaskResultStatus.SUCCESSFUL,
    State.FAILED: compat.TaskResultStatus.FAILED,
    State.CANCELLED: compat.TaskResultStatus.FAILED,
}


class Progress(NamedTuple):
    """``fraction``: from 0 to 1, None where the task does not know."""

    fraction: float | None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedTaskResult(compat.TaskResult):  # type: ignore[misc, type-arg]
    """Django's ``TaskResult`` of a stored task, which can also be stopped and put back.

    ``progress``: what the task last said of it, None if it has said nothing. ``is_duplicate``: nothing was stored for
    the call; this is the task that holds its unique key.
    """

    progress: Progress | None = None
    is_duplicate: bool = False

    def __post_init__(self) -> None:
        """Nothing: Django makes JSON of the arguments here, and ours came out of JSON or were copied."""

    @property
    def is_dropped(self) -> bool:
        """Whether a hook wanted it not to be stored. Its id is one that no row has."""
        return self.id == NOT_STORED

    def cancel(self, reason: str = "", *, by: str = "") -> bool:
        """Cancel it if it waits, stop it if it runs. False: it had ended before. ``by``: who asks for it."""
        cancelled, asked = registry.backend_of(self.backend).cancel([int(self.id)], reason, by=by)
        return bool(cancelled or asked)

    def requeue(self) -> bool:
        """Put it back with one more attempt, also one that has succeeded.

        False: it has not ended, or another holds its unique key.
        """
        return bool(registry.backend_of(self.backend).store.requeue([int(self.id)], states=FINISHED))

    def refresh(self) -> None:
        """Take what the database knows of it now."""
        self._take(self.task.get_backend().get_result(self.id))

    async def arefresh(self) -> None:
        self._take(await self.task.get_backend().aget_result(self.id))

    def _take(self, stored: Any) -> None:
        for name in (*compat.TASK_REFRESH_ATTRS, "progress"):
            object.__setattr__(self, name, getattr(stored, name))


def row_id(given: Any) -> int | None:
    """Return an id as a row has it; None for what can be none, which no row has."""
    if type(given) is int:
        return given if 0 <= given < 10**18 else None
    return int(given) if isinstance(given, str) and _ID.fullmatch(given) else None


def new_result(definition: Any, id: int, enqueued_at: Any, args: Any, kwargs: Any) -> QueuedTaskResult:
    """Return the result of a call that has just been stored."""
    return QueuedTaskResult(
        task=definition,
        id=str(id),
        status=compat.TaskResultStatus.READY,
        enqueued_at=enqueued_at,
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=[_copied(value) for value in args],
        kwargs={name: _copied(value) for name, value in kwargs.items()} if kwargs else {},
        backend=definition.backend,
        errors=[],
        worker_ids=[],
    )


class NewResults(Sequence[QueuedTaskResult]):
    """The results of many calls that have just been stored, in their order; each is made when it is asked for.

    Of thousands hardly any is looked at, and making one takes as long as storing a row.
    """

    def __init__(self, definition: Any, stored: Sequence[Enqueued], calls: Sequence[str]) -> None:
        self._definition = definition
        self._stored = stored
        self._calls = calls  # as they were stored: what the caller does with his arguments changes no result
        self._made: dict[int, QueuedTaskResult] = {}

    def __len__(self) -> int:
        return len(self._stored)

    @overload
    def __getitem__(self, index: int) -> QueuedTaskResult: ...

    @overload
    def __getitem__(self, index: slice) -> list[QueuedTaskResult]: ...

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        if number not in self._made:
            enqueued = self._stored[number]
            args, kwargs = payload.load_call(self._calls[number])
            self._made[number] = new_result(self._definition, enqueued.id, enqueued.enqueued_at, args, kwargs)
        return self._made[number]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"<{len(self)} results of {self._definition.module_path}>"


def _copied(value: Any) -> Any:
    """Return JSON that does not change when the caller goes on using his."""
    return compat.normalize_json(value) if isinstance(value, list | dict) else value


def running_result(task: Claimed, definition: Any, *, database: str) -> QueuedTaskResult:
    """Return the result of a task that is about to run on this worker. Reads the errors of its earlier tries."""
    attempts: Iterable[TaskAttempt] = ()
    if task.attempt > 1:
        attempts = _attempts(database, task.id).filter(number__lt=task.attempt)
    return claimed_result(task, definition, attempts)


def claimed_result(task: Claimed, definition: Any = None, attempts: Iterable[TaskAttempt] = ()) -> QueuedTaskResult:
    """Return the result of a claimed task without asking the database: its row may be gone."""
    if definition is None:
        definition = definition_at(task.task_path)
    return _result(
        task,
        definition,
        payload.load_call,
        status=compat.TaskResultStatus.RUNNING,
        finished_at=None,
        errors=_errors(attempts),
    )


def stored_result(task: Task) -> QueuedTaskResult:
    """Return the result of a row, whatever is in it: its function may be gone, its payload damaged by hand."""
    # Not `task.attempts`, which asks the routers where to read.
    errors = _errors(_attempts(task._state.db, task.pk)) if task.attempt else []
    if task.state == State.CANCELLED and (not errors or errors[-1].exception_class_path != task.error_class):
        # By request: no try ended with it.
        errors.append(compat.TaskError(exception_class_path=task.error_class, traceback=task.error_message))
    result = _result(
        task,
        definition_at(task.task_path),
        payload.call_of,
        # A state that we do not know is a newer version's, or an edit by hand: it has not ended.
        status=STATUSES.get(task.state, compat.TaskResultStatus.READY),
        finished_at=task.finished_at,
        errors=errors,
        progress=_progress(task),
    )
    object.__setattr__(result, "_return_value", task.return_value)
    return result


def _result(task: Task | Claimed, definition: Any, read: Callable[[Any], Any], **own: Any) -> QueuedTaskResult:
    """``read``: gives the arguments. With none if they are damaged, the result can be read all the same."""
    try:
        args, kwargs = read(task.args_kwargs)
    except (ValueError, TypeError, RecursionError):
        args, kwargs = [], {}
    return QueuedTaskResult(
        task=restored(
            definition,
            queue_name=task.queue_name,
            priority=task.priority,
            backend=task.backend_alias,
            run_after=task.run_after if task.run_after > task.enqueued_at else None,
        ),
        id=str(task.id),
        enqueued_at=task.enqueued_at,
        started_at=task.started_at,
        last_attempted_at=task.last_attempted_at,
        args=args,
        kwargs=kwargs,
        backend=task.backend_alias,
        worker_ids=task.worker_names,
        **own,
    )


def _attempts(database: str | None, task_id: int) -> QuerySet[TaskAttempt]:
    return TaskAttempt.objects.using(database).filter(task_id=task_id).order_by("number", "id")


def _progress(task: Task) -> Progress | None:
    said = task.progress is not None or task.progress_message
    return Progress(task.progress, task.progress_message) if said else None


def _errors(attempts: Iterable[TaskAttempt]) -> list[Any]:
    return [
        compat.TaskError(exception_class_path=attempt.error_class, traceback=attempt.traceback or attempt.error_message)
        for attempt in attempts
    ]
