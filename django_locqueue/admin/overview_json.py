"""The overview as JSON: names as ``queue_status --json`` has them, texts masked as on the page."""

from typing import Any

from django_locqueue.admin.overview_view import OverviewView
from django_locqueue.observability.history import Numbers
from django_locqueue.observability.stats import CAP
from django_locqueue.observability.status_json import queue_json, totals_json
from django_locqueue.policies import legible, masking


def as_json(found: OverviewView) -> dict[str, Any]:
    """Numbers of tasks that wait, run or have failed end at ``count_cap``; times are in seconds."""
    now = found.now
    if now.missing_migrations:
        return {"at": now.at.isoformat(), "missing_migrations": list(now.missing_migrations)}
    return {
        "at": now.at.isoformat(),
        "count_cap": CAP,
        "totals": totals_json([now]),
        "queues": [queue_json(now.database, each) for each in now.queues],
        "period": found.period,
        "queue": found.queue or None,
        "total": _numbers(found.history.total),
        "bars": [
            {"start": bar.start.isoformat(), "seconds": bar.seconds, "is_over": bar.is_over, **_numbers(bar)}
            for bar in found.history.bars
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
            {"task": legible.line(path), "runs": sum(each.run_bins), "run_p95_seconds": each.run_p95}
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
    counts = {name: getattr(numbers, name) for name in ("succeeded", "failed", "retried", "cancelled")}
    times = ("wait_p50", "wait_p95", "run_p50", "run_p95")
    return counts | {f"{name}_seconds": getattr(numbers, name) for name in times}
