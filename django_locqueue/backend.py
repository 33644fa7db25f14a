"""The backend of Django's task framework: what a project names in ``TASKS``."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.core import checks
from django.db import router

from django_locqueue import clock, compat, endings, uniqueness
from django_locqueue.backend_options import (
    OPTIONS,
    check_entry,
    check_options,
    queue_names,
    time_problem,
    validate_options,
)
from django_locqueue.conf import place
from django_locqueue.definition import TaskDefinition, argument_name, pairs
from django_locqueue.hooks import Dropped, Hooks, dropped_result, hooks_of
from django_locqueue.models import State, Task
from django_locqueue.models.task import KEY_LENGTH, PATH_LENGTH, queue_name_problem
from django_locqueue.origin import current_origin
from django_locqueue.pending_limit import PendingLimit, admit, give_back, pending_limits
from django_locqueue.policies import payload, retry
from django_locqueue.policies.limits import limits_of
from django_locqueue.policies.signature import check_arguments
from django_locqueue.policies.terms import Terms
from django_locqueue.result import NewResults, QueuedTaskResult, new_result, row_id, stored_result
from django_locqueue.store import Call, Store, store_for
from django_locqueue.workflow_backend import WorkflowBackend

MOST_VALID = 1000  # definitions that a backend remembers


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
        super().__init__(alias, {**params, "QUEUES": queue_names(params)})
        self.params = params
        self._database = self.options.get("DATABASE") if isinstance(self.options, Mapping) else None
        self._valid: dict[int, Any] = {}

    @property
    def store(self) -> Store:
        # As `get_store` of our alias finds it, without a look at all of `TASKS`. The routers are asked each time.
        return store_for(self._database or router.db_for_write(Task))

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
        if problem := queue_name_problem(task.queue_name):
            raise compat.InvalidTask(f"queue_name {problem}")
        if self.queues and task.queue_name not in self.queues:
            raise compat.InvalidTask(
                f"{place('TASKS', self.alias, 'QUEUES')} allows {', '.join(sorted(self.queues))}, and "
                f"{task.queue_name!r} is not among them. Add it, or write [] for any."
            )
        priority, least, most = task.priority, compat.TASK_MIN_PRIORITY, compat.TASK_MAX_PRIORITY
        if not isinstance(priority, int | float) or not least <= priority <= most or int(priority) != priority:
            raise compat.InvalidTask(f"priority must be a whole number from {least} to {most}, got {priority!r}.")
        if problem := time_problem(task.run_after):
            raise compat.InvalidTask(problem)
        super().validate_task(task)
        if len(task.module_path) > PATH_LENGTH:
            raise compat.InvalidTask(f"The path {task.module_path} is longer than {PATH_LENGTH} characters.")
        if isinstance(task, TaskDefinition):
            validate_options(task)
            if problem := uniqueness.problem(task, lambda: self.retention):
                raise compat.InvalidTask(problem)

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> QueuedTaskResult:
        """Store a call, in the caller's transaction if there is one, and return its result.

        Raises TypeError before any SQL for arguments that the function does not take, TypeError or ValueError for those
        that JSON cannot hold, naming the argument, and ``QueueFull`` where ``MAX_PENDING`` leaves no room.
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
        self._announce([enqueued.id], [result])
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
        try:
            with self.store.transaction():
                for varied, alike in groupby(kept, itemgetter(0)):
                    new += self._store_many(varied, [(args, kwargs) for _, args, kwargs in alike])
        except BaseException:
            give_back((each.task for each in new if not each.is_duplicate), self.pending_limits)
            raise
        results = iter(new)
        return [dropped_result(each) if isinstance(each, Dropped) else next(results) for each in asked]

    def _store_many(self, task: Any, arguments: Sequence[uniqueness.Arguments]) -> Sequence[QueuedTaskResult]:
        calls = list(self._calls(task, arguments))
        if self.pending_limits:
            admit(calls, self.pending_limits, self.store.count_pending)
        results: Sequence[QueuedTaskResult]
        left_out = calls
        try:
            if getattr(task, "unique", None) is not None:
                results = uniqueness.enqueue(self.store, task, arguments, calls)
                left_out = [call for call, result in zip(calls, results, strict=True) if result.is_duplicate]
                ids = (int(result.id) for result in results if not result.is_duplicate)
            else:
                stored = self.store.enqueue_many(calls)
                results = NewResults(task, stored, [call.args_kwargs for call in calls])
                left_out = []
                ids = (each.id for each in stored)
        finally:
            give_back(left_out, self.pending_limits)
        self._announce(ids, (result for result in results if not result.is_duplicate))
        return results

    def get_result(self, result_id: str | int) -> QueuedTaskResult:
        """Return the result of a stored task. Raises ``TaskResultDoesNotExist``, also for a malformed id.

        An id is text to Django; a number is taken too, as the rows and the log have it.
        """
        task = self.store.tasks.filter(pk=row_id(result_id)).first()  # type: ignore[misc]
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
        return [*check_entry(self.alias, self.params), *check_options(self.alias, self.options, self.queues)]

    def _validate_once(self, task: Any) -> None:
        """Validate a definition at its first call; neither it nor the settings of this backend ever change."""
        if self._valid.get(id(task)) is not task:
            self.validate_task(task)
            if len(self._valid) >= MOST_VALID:  # `using()` makes a new one at each call
                self._valid.clear()
            self._valid[id(task)] = task

    def _calls(self, task: Any, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]) -> Iterator[Call]:
        options = task if isinstance(task, TaskDefinition) else None
        metadata = options.metadata if options else None
        if (origin := current_origin.get()) is not None:
            metadata = {**origin.metadata, **(metadata or {})}
        name_of = partial(argument_name, task)
        same: dict[str, Any] = {
            "task_path": task.module_path,
            "queue_name": task.queue_name,
            "priority": int(task.priority),
            "run_after": None if task.run_after is None else clock.storable(task.run_after),
            "max_attempts": (options and options.max_attempts) or self.max_attempts,
            "backend_alias": self.alias,
            "metadata": payload.dump(metadata) if metadata else None,
        }
        limits = limits_of(options) if options else None
        usual: dict[str, Any] = {}
        if options and options.expires is not None:
            usual["expires"] = float(options.expires)
            same["extra"] = (("terms", Terms(**usual).dump()),)
        is_chunked = options is not None and options.chunk is not None  # its function is called with a list of calls
        for args, kwargs in calls:
            call = Call(args_kwargs=payload.dump_call(args, kwargs, name_of), **same)
            if not is_chunked:
                check_arguments(task.func, args, kwargs, takes_context=task.takes_context)
            if limits is not None:
                limit_key, terms = limits.of_call(args, kwargs, KEY_LENGTH)
                extra = (("limit_key", limit_key), ("terms", Terms(**usual, **terms).dump()))
                call = call._replace(turn=State.BLOCKED, extra=extra)
            yield call
