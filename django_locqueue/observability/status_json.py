"""Snapshots for machines: the names and shapes of ``queue_status --json`` and of the health view."""

from collections.abc import Sequence
from typing import Any

from django_locqueue.observability.snapshot import QueueNow, Snapshot, WorkerNow
from django_locqueue.observability.stats import CAP
from django_locqueue.observability.verdict import Verdict
from django_locqueue.policies import masking

TOTALS = ("ready", "limited", "scheduled", "retrying", "running", "failed", "failed_24h", "failed_hour", "retried")


def status_json(found: Sequence[Snapshot], verdict: Verdict, queue: str = "") -> dict[str, Any]:
    """Return one object, whatever the number of databases. Numbers of tasks end at ``count_cap``; times are seconds.

    ``queue``: lists only this one, and the workers that serve it; the totals are of all in any case.
    """
    return {
        "status": verdict.level.value,
        "problems": list(verdict.problems),
        "count_cap": CAP,
        "totals": totals_json(found),
        "queues": [
            queue_json(each.database, one) for each in found for one in each.queues if not queue or one.name == queue
        ],
        "workers": [
            _worker(each.database, one) for each in found for one in each.workers if not queue or one.serves(queue)
        ],
        "unknown_tasks": [
            {"database": each.database, "task": unknown.path, "tasks": min(CAP, unknown.count)}
            for each in found
            for unknown in each.unknown
        ],
        "databases": [_database(each) for each in found],
    }


def totals_json(found: Sequence[Snapshot]) -> dict[str, Any]:
    oldest = [each.oldest_ready_seconds for each in found if each.oldest_ready_seconds is not None]
    return {
        **{name: min(CAP, sum(getattr(each, name) for each in found)) for name in TOTALS},
        "oldest_ready_seconds": max(oldest, default=None),
        "per_minute": round(sum(each.per_minute for each in found), 3),
        "workers": sum(len(each.live_workers) for each in found),
        "slots": sum(each.slots for each in found),
        "busy": sum(each.busy for each in found),
    }


def _database(found: Snapshot) -> dict[str, Any]:
    return {
        "name": found.database,
        "at": found.at.isoformat(),
        "next_due_seconds": found.next_due_seconds,
        "next_retry_seconds": found.next_retry_seconds,
        "clock_difference_seconds": round(found.clock_seconds, 3),
        "is_scheduling": found.is_scheduling,
        "missing_migrations": list(found.missing_migrations),
    }


def queue_json(database: str, queue: QueueNow) -> dict[str, Any]:
    counts = ("ready", "limited", "scheduled", "retrying", "running", "failed_24h", "failed_hour")
    return {
        "database": database,
        "name": queue.name,
        "state": queue.state.value,
        **{name: min(CAP, getattr(queue, name)) for name in counts},
        "oldest_ready_seconds": queue.oldest_ready_seconds,
        "per_minute": round(queue.per_minute, 3),
        "wait_p95_seconds": queue.wait_p95,
        "workers": queue.workers,
        "paused_at": queue.paused_at and queue.paused_at.isoformat(),
        "paused_until": queue.paused_until and queue.paused_until.isoformat(),
        "paused_by": queue.paused_by,
        "pause_reason": masking.mask_text(queue.pause_reason),
    }


def _worker(database: str, worker: WorkerNow) -> dict[str, Any]:
    return {
        "database": database,
        "id": worker.id,
        "name": worker.name,
        "state": worker.state.value,
        "busy": worker.busy,
        "slots": worker.slots,
        "queues": list(worker.queues),
        "running": [
            {"id": task.id, "task": task.path, "queue": task.queue_name, "seconds": task.seconds}
            for task in worker.running
        ],
        "started_at": worker.started_at.isoformat(),
        "heartbeat_seconds": worker.heartbeat_seconds,
        "succeeded": worker.succeeded,
        "failed": worker.failed,
        "memory_mb": worker.memory_mb,
        "version": worker.version,
        "code_version": worker.code_version,
    }
