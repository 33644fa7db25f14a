"""The list of workers."""

from typing import Any

from django.contrib import admin
from django.db.models import BooleanField, Case, Count, Value, When
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from django_locqueue.admin import moments
from django_locqueue.admin.badges import badge
from django_locqueue.admin.pages import page
from django_locqueue.admin.plain_list import PlainListAdmin
from django_locqueue.clock import DatabaseNow
from django_locqueue.models import Task, Worker
from django_locqueue.policies import legible


@page(Worker)
class WorkerAdmin(PlainListAdmin):
    empty = _("No worker has ever started, or the last one stopped long ago.")
    ordering = ("-id",)
    list_display = (
        "name_column",
        "state_column",
        "queues_column",
        "busy_column",
        "started_column",
        "heartbeat_column",
        "version_column",
    )

    def get_queryset(self, request: Any) -> Any:
        is_silent = Case(
            When(lease_until__lte=DatabaseNow(), then=Value(True)), default=Value(False), output_field=BooleanField()
        )
        return super().get_queryset(request).annotate(is_silent=is_silent)

    def complete(self, rows: list[Any]) -> None:
        # The running index holds no more rows than all workers have slots.
        busy = Task.objects.running().filter(worker_id__in=[worker.pk for worker in rows]).order_by()
        counts = dict(busy.values_list("worker_id").annotate(Count("pk"))) if rows else {}
        for worker in rows:
            worker.busy = counts.get(worker.pk, 0)

    @admin.display(description=_("worker"))
    def name_column(self, worker: Worker) -> str:
        return legible.line(worker.name)

    @admin.display(description=_("state"))
    def state_column(self, worker: Any) -> Any:
        if worker.stopped_at:
            return badge("stopped")
        if worker.is_silent:
            return badge("lost worker")
        return badge("stopping" if worker.stopping else "live")

    @admin.display(description=_("queues"))
    def queues_column(self, worker: Worker) -> Any:
        return legible.line(worker.queues.replace(",", ", ")) or _("all")

    @admin.display(description=_("busy"))
    def busy_column(self, worker: Any) -> Any:
        if worker.stopped_at and not worker.busy:
            return "–"
        return format_html("{}/{}", worker.busy, worker.threads)

    @admin.display(description=_("started"))
    def started_column(self, worker: Worker) -> Any:
        return moments.time_tag(worker.started_at)

    @admin.display(description=_("heartbeat"))
    def heartbeat_column(self, worker: Worker) -> Any:
        return moments.time_tag(worker.heartbeat_at)

    @admin.display(description=_("version"))
    def version_column(self, worker: Worker) -> str:
        return legible.line(worker.version) or "–"
