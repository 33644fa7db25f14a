"""The overview: is the queue healthy? Read from the snapshot and from what workers have counted."""

from typing import Any

from django.contrib import admin
from django.http import JsonResponse
from django.urls import path
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from django_locqueue.admin.live import live
from django_locqueue.admin.overview_view import OverviewView
from django_locqueue.admin.page_base import ModelAdminBase, PageMixin
from django_locqueue.admin.pages import page
from django_locqueue.admin.task_base import TaskPermissions
from django_locqueue.models import Overview
from django_locqueue.observability.history import PERIODS, Numbers
from django_locqueue.observability.stats import CAP
from django_locqueue.observability.status_json import queue_json, totals_json
from django_locqueue.policies import legible, masking

REFRESH_SECONDS = 10
PERIOD_LABELS = {
    "15m": _("15 minutes"),
    "1h": _("1 hour"),
    "24h": _("24 hours"),
    "7d": _("7 days"),
}
DEFAULT_PERIOD = "1h"


@page(Overview)
class OverviewAdmin(TaskPermissions, PageMixin, ModelAdminBase):
    show_facets = admin.ShowFacets.NEVER  # as everywhere; it has no list

    def get_urls(self) -> list[Any]:
        return [
            path("", self.looked_at(live(self.page_view)), name="locqueue_overview_changelist"),
            path("data.json", self.looked_at(self.data_view), name="locqueue_overview_data"),
        ]

    def page_view(self, request: Any) -> Any:
        found = self._found(request)
        return self.respond(
            request,
            "admin/locqueue/overview.html",
            refresh=REFRESH_SECONDS,
            title=self.opts.verbose_name_plural,
            list_url="",
            periods=[
                (label, self._address(name, found.queue), name == found.period) for name, label in PERIOD_LABELS.items()
            ],
            # A name that is not what it looks like is led to from its row.
            queues=[
                (queue.name, queue.name == found.queue)
                for queue in found.queues
                if queue.name == legible.line(queue.name)
            ],
            found=found,
        )

    def data_view(self, request: Any) -> Any:
        """The same as JSON, for scripts of those who may look at the page."""
        return JsonResponse(_as_json(self._found(request)))

    def _found(self, request: Any) -> OverviewView:
        """What is asked for and is none of the periods, or no queue, is left out."""
        period = request.GET.get("period", "")
        return OverviewView(
            request,
            self.admin_site,
            period if period in PERIODS else DEFAULT_PERIOD,
            request.GET.get("queue", ""),
        )

    def _address(self, period: str, queue: str) -> str:
        return f"{self.list_url()}?{urlencode({'period': period, **({'queue': queue} if queue else {})})}"


def _as_json(found: OverviewView) -> dict[str, Any]:
    """Return the names of ``queue_status --json``, with texts masked as on the page.

    Numbers of tasks that wait, run or have failed end at ``count_cap``; times are in seconds.
    """
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
