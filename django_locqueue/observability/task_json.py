"""A task for other programs, masked as pages are: the names and values of the files of lists, and of the commands."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from django_locqueue.models import State, Task, TaskAttempt
from django_locqueue.policies import legible, masking

LONGEST_VALUE = 20_000  # characters of a traceback


def state_name(task: Task) -> str:
    return "retrying" if task.is_retrying else str(task.state)


def task_json(task: Task, workers: Sequence[str]) -> dict[str, Any]:
    """Return what a list says of a task, as values of JSON; nothing that may be large. ``workers``: who had it."""
    return {
        "id": task.pk,
        "task": legible.line(task.task_path),
        "state": str(task.state),
        "queue": legible.line(task.queue_name),
        "priority": task.priority,
        "attempt": task.attempt,
        "max": max(task.attempt, task.max_attempts),
        "worker": legible.line(workers[-1]) if workers else "",
        "added": iso(task.enqueued_at),
        "due": iso(task.run_after) if task.state == State.SCHEDULED else None,
        "started": iso(task.last_attempted_at),
        "finished": iso(task.finished_at),
        "wait_s": _seconds(task.ready_at, task.started_at),
        "run_s": _seconds(task.last_attempted_at, task.finished_at) if task.state != State.CANCELLED else None,
        "error": legible.line(task.error_class),
        "message": legible.line(masking.mask_text(task.error_message)),
        "retried_by": legible.line(task.retried_by),
    }


def full_task_json(task: Task) -> dict[str, Any]:
    """Return what its page shows of a task: arguments, result, log, and each attempt. One statement."""
    call = task.args_kwargs if isinstance(task.args_kwargs, Mapping) else {"args": task.args_kwargs}
    attempts = TaskAttempt.objects.using(task._state.db).filter(task_id=task.pk).order_by("number")
    return {
        **task_json(task, task.worker_names),
        "unique_key": masking.mask_text(task.unique_key),
        "limit_key": masking.mask_text(task.limit_key or ""),
        "workflow": task.workflow_id,
        "cancel_requested": task.cancel_requested,
        "args": masking.mask(call.get("args")),
        "kwargs": masking.mask(call.get("kwargs")),
        "result": masking.mask(task.return_value),
        "metadata": masking.mask(task.metadata),
        "log": masking.mask(task.log),
        "attempts": [
            {
                "number": attempt.number,
                "outcome": attempt.outcome,
                "started": iso(attempt.started_at),
                "finished": iso(attempt.finished_at),
                "worker": attempt.worker_name,
                "error": attempt.error_class,
                "message": masking.mask_text(attempt.error_message),
                "traceback": masking.mask_text(attempt.traceback[-LONGEST_VALUE:]),
            }
            for attempt in attempts
        ],
    }


def iso(moment: datetime | None) -> str | None:
    """Return a time with the zone of the project."""
    if moment is None:
        return None
    return (moment.astimezone(timezone.get_default_timezone()) if timezone.is_aware(moment) else moment).isoformat()


def _seconds(since: datetime | None, until: datetime | None) -> float | None:
    return round(max(0.0, (until - since).total_seconds()), 3) if since and until else None
