"""A task for other programs, masked as pages are: the names and values of the files of lists, and of the commands."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from django_locqueue.models import State, Task
from django_locqueue.policies import legible, masking


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


def iso(moment: datetime | None) -> str | None:
    """Return a time with the zone of the project."""
    if moment is None:
        return None
    return (moment.astimezone(timezone.get_default_timezone()) if timezone.is_aware(moment) else moment).isoformat()


def _seconds(since: datetime | None, until: datetime | None) -> float | None:
    return round(max(0.0, (until - since).total_seconds()), 3) if since and until else None
