"""A task as commands tell of it: what pages show, with the same values hidden."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django_locqueue.models import State, Task, TaskAttempt
from django_locqueue.observability.task_json import iso, task_json
from django_locqueue.policies import legible, masking, payload

LONGEST_VALUE = 20_000  # characters of a traceback


def state_of(task: Task) -> str:
    return "retrying" if task.is_retrying else str(task.state)


def moment_of(task: Task) -> datetime | None:
    """Return the time that matters in the task's state: when it ended, began, or may begin."""
    waiting: datetime | None = task.last_attempted_at if task.state == State.RUNNING else task.run_after
    ended: datetime | None = task.finished_at
    return ended if task.is_finished else waiting


def all_facts(task: Task) -> dict[str, Any]:
    """Return everything that the page of a task shows."""
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


def value_text(value: Any) -> str:
    """Return a value of JSON for one line of a terminal."""
    return legible.line(payload.dump(value)[:500])


def log_lines(log: Any) -> list[str]:
    """Return a task's log for a terminal, a line each with its attempt; nothing for what is none."""
    lines = log if isinstance(log, list) else []
    words = ("attempt", "time", "level", "logger", "message")
    said = ["  ".join(str(line.get(word, "")) for word in words) for line in lines if isinstance(line, dict)]
    return ["\nlog", *(f"  {legible.line(each)}" for each in said)] if said else []
