"""Runs one task: resolve, begin, perform, normalise. Whatever the task does ends as an outcome."""

import contextvars
import json
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import DatabaseError, connections, reset_queries, transaction
from django.utils import timezone

from django_locqueue import compat
from django_locqueue.backend import LocQueueBackend
from django_locqueue.definition import TaskDefinition, resolve
from django_locqueue.exceptions import InvalidPayload, LeaseLost, StopTask, UnknownTask
from django_locqueue.models import State
from django_locqueue.policies import payload, retry
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from django_locqueue.result import STATUSES, running_result
from django_locqueue.service import close_connections
from django_locqueue.worker.execution import Execution, StopReason, TaskContext

logger = logging.getLogger("django_locqueue.task")

NOT_BEGUN_SECONDS = 1.0  # a task that could not even begin waits this long


class Executor:
    def __init__(self, backend: LocQueueBackend) -> None:
        self.backend = backend

    def run(self, execution: Execution) -> None:
        """Run the task and set ``execution.outcome``. Never raises."""
        try:
            # A fresh context: what a task sets of language, time zone, decimal precision or context variables ends
            # with it (CASES F5).
            execution.outcome = contextvars.Context().run(self._run, execution)
        except BaseException as error:
            logger.exception("Running %s #%d failed outside the task.", execution.claimed.name, execution.claimed.id)
            execution.outcome = Outcome(Kind.FAILED, error=ErrorReport.of(error), exception=error)
        execution.ended = time.monotonic()
        clean_connections()

    def _run(self, execution: Execution) -> Outcome:
        if execution.stop_reason is not None:  # it waited for a thread until it was too late
            return _stopped(execution, StopTask(execution.stop_reason))
        claimed = execution.claimed
        try:
            definition = resolve(claimed.task_path)
            args, kwargs = _load_call(claimed.args_kwargs)
        except (UnknownTask, InvalidPayload) as error:
            return Outcome(Kind.FAILED, error=ErrorReport.of(error), exception=error)
        try:
            execution.result = running_result(claimed, definition, (args, kwargs))
        except DatabaseError:
            # The task has not begun: it is not to blame, and not charged, for a database that is away.
            logger.warning("#%d could not begin, because the database failed.", claimed.id, exc_info=True)
            return Outcome(Kind.RELEASED, delay=NOT_BEGUN_SECONDS)
        compat.task_started.send_robust(type(self.backend), task_result=execution.result)
        if definition.takes_context:
            metadata = json.loads(claimed.metadata) if claimed.metadata else {}
            context = TaskContext(task_result=execution.result, execution=execution, metadata=metadata)
            args = [context, *args]
        perform = partial(definition.call, *args, **kwargs)
        options = definition if isinstance(definition, TaskDefinition) else None
        if options and options.atomic:
            return self._perform_atomic(execution, options, perform)
        return self._perform(execution, options, perform)

    def _perform(self, execution: Execution, options: TaskDefinition | None, perform: Callable[[], Any]) -> Outcome:
        try:
            value = perform()
        except BaseException as error:
            return self._after_error(execution, options, error)
        return self._normalise(options, value)

    def _perform_atomic(self, execution: Execution, options: TaskDefinition, perform: Callable[[], Any]) -> Outcome:
        """The function's database work and its outcome commit together, or neither does."""
        try:
            with transaction.atomic(using=self.backend.database):
                outcome = self._normalise(options, perform())
                if outcome.exception is not None:
                    raise outcome.exception
                if not self.backend.store.ack([(execution.claimed, outcome)]):
                    raise LeaseLost(f"#{execution.claimed.id} was taken from this worker; its work is rolled back.")
        except BaseException as error:
            return self._after_error(execution, options, error)
        execution.recorded = True
        return outcome

    def _normalise(self, options: TaskDefinition | None, value: Any) -> Outcome:
        try:
            text = payload.dump(compat.normalize_json(value))
        except Exception as error:
            failure = TypeError(f"The return value cannot be stored as JSON: {type(error).__name__}: {error}")
            return Outcome(Kind.FAILED, error=ErrorReport.of(failure), exception=failure)
        keep = (options is None or options.keep_result) and self.backend.retention["successful"] != 0
        return Outcome(Kind.SUCCESSFUL, return_value=text, keep_row=keep)

    def _after_error(self, execution: Execution, options: TaskDefinition | None, error: BaseException) -> Outcome:
        claimed = execution.claimed
        if isinstance(error, StopTask) and execution.stop_reason is not None:
            return _stopped(execution, error)
        return retry.after_error(
            error,
            exhausted=retry.exhausted(
                attempt=claimed.attempt, crashes=claimed.crashes, max_attempts=claimed.max_attempts
            ),
            retry_on=options.retry_on if options else (Exception,),
            backoff=partial(self._backoff, execution, options, error),
            longest=self.backend.backoff["MAX"],
        )

    def _backoff(self, execution: Execution, options: TaskDefinition | None, error: BaseException) -> float:
        """Return the seconds to wait. A backoff function that misbehaves means the longest wait (CASES C9)."""
        longest = self.backend.backoff["MAX"]
        backoff = options.backoff if options else None
        if callable(backoff):
            try:
                return retry.sane(backoff(error, execution.result), otherwise=longest)
            except BaseException:
                logger.exception("The backoff function of %s raised; waiting %d s.", execution.claimed.name, longest)
                return longest
        if isinstance(backoff, int | float):
            return float(backoff)
        tried = execution.claimed.attempt - execution.claimed.crashes
        return retry.exponential(tried, {**self.backend.backoff, **(backoff or {})})

    def finish(self, execution: Execution) -> None:
        """Tell Django's receivers that a task has ended, as its own backends do: with the exception at hand."""
        outcome, result = execution.outcome, execution.result
        if outcome is None or outcome.kind not in _FINISHED:
            return
        if result is None:  # its function or payload is unknown, so it never began
            result = self.backend.get_result(str(execution.claimed.id))
        else:
            object.__setattr__(result, "status", STATUSES[_FINISHED[outcome.kind]])
            object.__setattr__(result, "finished_at", timezone.now())
            if outcome.return_value is not None:
                object.__setattr__(result, "_return_value", json.loads(outcome.return_value))
            if outcome.error is not None:
                result.errors.append(
                    compat.TaskError(exception_class_path=outcome.error.class_path, traceback=outcome.error.traceback)
                )
        if outcome.exception is None:
            compat.task_finished.send_robust(type(self.backend), task_result=result)
        else:
            try:
                raise outcome.exception
            except BaseException:
                compat.task_finished.send_robust(type(self.backend), task_result=result)
        clean_connections()


_FINISHED = {Kind.SUCCESSFUL: State.SUCCESSFUL, Kind.FAILED: State.FAILED, Kind.CANCELLED: State.CANCELLED}


def _stopped(execution: Execution, error: StopTask) -> Outcome:
    """A task that stopped because it was asked to: a cancelled one is over, another goes back uncharged."""
    if execution.stop_reason is StopReason.CANCELLED:
        return Outcome(Kind.CANCELLED, error=ErrorReport.of(error), exception=error)
    return Outcome(Kind.RELEASED)


def _load_call(text: str) -> tuple[list[Any], dict[str, Any]]:
    try:
        return payload.load_call(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidPayload(f"The stored arguments are damaged: {error}") from error


def clean_connections() -> None:
    """Leave no transaction, and no query log, to the next task on this thread (CASES E5, F1)."""
    reset_queries()
    for connection in connections.all(initialized_only=True):
        if connection.connection is None:
            continue
        try:
            if not _is_clean(connection):
                connection.close()
                if connection.in_atomic_block:
                    # Django keeps a connection unusable until its block ends, and this one never does.
                    del connections[connection.alias]
        except Exception:
            close_connections()


def _is_clean(connection: Any) -> bool:
    if connection.in_atomic_block or connection.errors_occurred or not connection.get_autocommit():
        return False
    info = getattr(connection.connection, "info", None)  # psycopg: a raw BEGIN is not seen by Django
    if info is not None:
        return bool(info.transaction_status == 0)
    if connection.vendor == "mysql":
        # Its client cannot tell, and the next BEGIN would commit what a raw BEGIN left. One round trip.
        connection.connection.rollback()
        return True
    return not getattr(connection.connection, "in_transaction", False)  # sqlite3


def close_old_connections() -> None:
    """At the end of a burst of tasks: what ``CONN_MAX_AGE`` says of the end of a request."""
    for connection in connections.all(initialized_only=True):
        try:
            connection.close_if_unusable_or_obsolete()
        except Exception:
            connection.connection = None
