"""The overview as JSON: names as ``queue_status --json`` has them, texts masked as on the page."""

from typing import Any

from django_locqueue.admin.overview_view import OverviewView
from django_locqueue.observability.history import Numbers
from django_locqueue.policies import legible, masking


def as_json(found: OverviewView) -> dict[str, Any]:
    """Counts of what waits, runs or has failed end at 10,001, which means more than 10,000. Times are in seconds."""
    now = found.now
    if now.missing_migrations:
        return {"at": now.at.isoformat(), "missing_migrations": list(now.missing_migrations)}
    return {
        "at": now.at.isoformat(),
        "period": found.period,
        "queue": found.queue or None,
        "ready": now.ready,
        "oldest_ready_seconds": now.oldest_ready_seconds,
        "scheduled": now.scheduled,
        "running": now.running,
        "retrying": now.retrying,
        "failed": now.failed,
        "failed_hour": now.failed_hour,
        "slots": now.slots,
        "busy": now.busy,
        "total": _numbers(found.history.total),
        "bars": [
            {"start": bar.start.isoformat(), "seconds": bar.seconds, "is_over": bar.is_over, **_numbers(bar)}
            for bar in found.history.bars
        ],
        "queues": [
            {
                "name": legible.line(each.name),
                "state": each.state.value,
                "ready": each.ready,
                "oldest_ready_seconds": each.oldest_ready_seconds,
                "running": each.running,
                "per_minute": each.per_minute,
                "wait_p95": each.wait_p95,
            }
            for each in now.queues
        ],
        "errors": [
            {
                "error": legible.line(group.error_class),
                "message": legible.line(masking.mask_text(group.message)),
                "task": legible.line(group.task_path),
                "count": count,
                "last_seen": group.last_seen.isoformat(),
            }
            for group, count in found.errors
        ],
        "slowest": [
            {"task": legible.line(path), "runs": sum(each.run_bins), "run_p95": each.run_p95}
            for path, each in found.slowest
        ],
        "recent_failures": [
            {
                "id": task.pk,
                "task": legible.line(task.task_path),
                "error": legible.line(task.error_class),
                "message": legible.line(masking.mask_text(task.error_message)),
                "failed_at": task.finished_at.isoformat(),
            }
            for task in found.recent
        ],
    }


def _numbers(numbers: Numbers) -> dict[str, Any]:
    names = ("succeeded", "failed", "retried", "cancelled", "wait_p50", "wait_p95", "run_p50", "run_p95")
    return {name: getattr(numbers, name) for name in names}
