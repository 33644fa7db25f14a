"""What receivers hear of a run that has ended, once its outcome is stored."""

import json
import logging
from typing import Any

from django.db import Error
from django.utils import timezone

from django_locqueue import compat, signals
from django_locqueue.connections import clean_connections
from django_locqueue.definition import definition_at
from django_locqueue.endings import send_finished
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.result import STATUSES, claimed_result, running_result
from django_locqueue.store import Claimed
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import FINISHED, Executor

_SIGNALS = {Kind.RETRIED: signals.task_retried, Kind.CANCELLED: signals.task_cancelled}


def tell(executor: Executor, execution: Execution) -> None:
    """Send the signals of an execution whose outcome was written, or refused."""
    outcome, claimed = execution.outcome, execution.claimed
    try:
        sender = type(executor.backend_of(claimed))
        if execution.written is None:
            signals.lease_lost.send_robust(sender, claimed=claimed, outcome=outcome)
            return
        tell_finished(executor, execution)
        signals.attempt_ended.send_robust(sender, claimed=claimed, outcome=outcome, seconds=execution.seconds)
        if outcome is not None and (signal := _SIGNALS.get(outcome.kind)):
            signal.send_robust(sender, claimed=claimed, outcome=outcome)
    finally:
        execution.outcome = None  # its error's traceback leads back to the execution: no ring


def tell_finished(executor: Executor, execution: Execution) -> None:
    """Tell Django's receivers that a task has ended, as its own backends do."""
    outcome = execution.outcome
    if outcome is None or outcome.kind not in FINISHED:
        return
    level = logging.ERROR if outcome.exception else logging.INFO
    if compat.is_heard(compat.task_finished, level):
        sender = type(executor.backend_of(execution.claimed))
        send_finished(sender, _finished_result(executor, execution, outcome), outcome.exception)
        if executor.owns_connections:
            clean_connections()


def _finished_result(executor: Executor, execution: Execution, outcome: Outcome) -> Any:
    if execution.began is None or outcome.by_request:  # its row knows the reason
        try:
            stored = executor.backend.get_result(str(execution.claimed.id))
        except (compat.TaskResultDoesNotExist, Error):
            pass  # it was not to be kept, or the database is away: receivers hear of it all the same
        else:
            if stored.is_finished:
                return stored
    result = execution.result or _running_result(executor, execution.claimed)
    object.__setattr__(result, "status", STATUSES[FINISHED[outcome.kind]])
    object.__setattr__(result, "finished_at", timezone.now())
    if outcome.return_value is not None:
        object.__setattr__(result, "_return_value", json.loads(outcome.return_value))
    if outcome.error is not None:
        result.errors.append(
            compat.TaskError(exception_class_path=outcome.error.class_path, traceback=outcome.error.traceback)
        )
    return result


def _running_result(executor: Executor, claimed: Claimed) -> Any:
    definition = definition_at(claimed.task_path)
    try:
        return running_result(claimed, definition, database=executor.store.alias)
    except Error:
        return claimed_result(claimed, definition)
