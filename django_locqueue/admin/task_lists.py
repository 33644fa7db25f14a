"""The lists of tasks: what waits, runs, failed, and was tried again."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, ClassVar

from django.db.models import Count, Q, Sum
from django.db.models.functions import Left
from django.urls import path, reverse
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from django_locqueue.admin import moments, numbers
from django_locqueue.admin.changelist import Tab
from django_locqueue.admin.columns import LINE_LENGTH
from django_locqueue.admin.error_pages import by_error_view, by_task_view
from django_locqueue.admin.filters import (
    ByHandFilter,
    DueFilter,
    ErrorFilter,
    GroupFilter,
    LimitFilter,
    PeriodFilter,
    PriorityFilter,
    QueueFilter,
    TaskFilter,
    WorkerFilter,
)
from django_locqueue.admin.pages import page
from django_locqueue.admin.task_base import TaskAdminBase, with_worker
from django_locqueue.clock import DatabaseNow
from django_locqueue.models import (
    ErrorGroup,
    FailedTask,
    PendingTask,
    RetriedTask,
    RunningTask,
    State,
    TaskStat,
)
from django_locqueue.observability.stats import CAP
from django_locqueue.store.selection import Selection

WAITING_CHANGES = ("change_time", "move", "change_priority", "cancel", "delete")


@page(PendingTask)
class PendingTaskAdmin(TaskAdminBase):
    tabs = (
        Tab(
            name="ready",
            listing="ready",
            label=_("Ready"),
            changes=WAITING_CHANGES,
            empty=_("Nothing is waiting."),
        ),
        Tab(
            name="scheduled",
            listing="scheduled",
            label=_("Scheduled"),
            changes=("run", "stop", *WAITING_CHANGES),
            empty=_("Nothing waits for its time."),
        ),
        Tab(
            name="blocked",
            listing="blocked",
            label=_("Blocked"),
            changes=WAITING_CHANGES,
            empty=_("Nothing waits for its turn under a limit."),
        ),
        Tab(
            name="overdue",
            listing="overdue",
            label=_("Overdue"),
            changes=WAITING_CHANGES,
            empty=_("Nothing has been ready for more than 5 minutes."),
        ),
    )
    row_changes = ("run", "stop", "cancel")
    list_filter: ClassVar[Any] = (QueueFilter, TaskFilter, PriorityFilter, LimitFilter, DueFilter, PeriodFilter)
    list_display = (
        "task_column",
        "queue_column",
        "when_column",
        "waiting_column",
        "priority_column",
        "attempt_column",
        "added_by_column",
    )

    def get_queryset(self, request: Any) -> Any:
        return super().get_queryset(request).annotate(metadata_start=Left("metadata", LINE_LENGTH))


@page(RunningTask)
class RunningTaskAdmin(TaskAdminBase):
    tabs = (
        Tab(
            name="running",
            listing="running",
            label=_("Running"),
            changes=("cancel", "put_back"),
            empty=_("Nothing is running right now."),
            refresh=5,
        ),
    )
    row_changes = ("cancel", "put_back")
    list_filter: ClassVar[Any] = (QueueFilter, TaskFilter, LimitFilter)
    list_display = (
        "task_column",
        "queue_column",
        "live_worker_column",
        "started_column",
        "running_for_column",
        "progress_column",
        "attempt_column",
        "heartbeat_column",
    )

    def get_queryset(self, request: Any) -> Any:
        return with_worker(super().get_queryset(request))


@page(FailedTask)
class FailedTaskAdmin(TaskAdminBase):
    tabs = (
        Tab(
            name="failed",
            listing="failed",
            label=_("List"),
            changes=("retry", "retry_at", "dismiss", "delete"),
            empty=_("No failed tasks."),
        ),
        Tab(
            name="dismissed",
            listing="dismissed",
            label=_("Dismissed"),
            changes=("retry", "retry_at", "delete"),
            empty=_("No failed task was dismissed."),
        ),
    )
    row_changes = ("retry",)
    list_filter: ClassVar[Any] = (
        ErrorFilter,
        GroupFilter,
        TaskFilter,
        QueueFilter,
        WorkerFilter,
        ByHandFilter,
        PeriodFilter,
    )
    list_display = (
        "task_column",
        "error_column",
        "queue_column",
        "worker_column",
        "attempt_column",
        "failed_column",
    )

    def get_urls(self) -> list[Any]:
        return [
            path("errors/", self.looked_at(self.errors_view), name="locqueue_failedtask_errors"),
            path("tasks/", self.looked_at(self.tasks_view), name="locqueue_failedtask_tasks"),
            *super().get_urls(),
        ]

    def errors_view(self, request: Any) -> Any:
        return by_error_view(self, request)

    def tasks_view(self, request: Any) -> Any:
        return by_task_view(self, request)

    def counted_besides(self) -> dict[str, Any]:
        return {"errors": ErrorGroup.objects.order_by("-last_seen")}

    def further_tabs(self, request: Any, counts: Mapping[str, str]) -> list[dict[str, Any]]:
        pages = (("errors", _("By error")), ("tasks", _("By task")))
        return [
            {
                "label": label,
                "url": reverse(f"admin:locqueue_failedtask_{name}", current_app=self.admin_site.name),
                "is_current": request.path.endswith(f"/{name}/"),
                "count": counts.get(name, ""),
            }
            for name, label in pages
        ]

    def empty_note(self, tab: Tab) -> Any:
        """Return when a task has failed last, though none is left in the list."""
        last = ErrorGroup.objects.order_by("-last_seen").values_list("last_seen", flat=True).first()
        return gettext("Last failure %(when)s.") % {"when": moments.distance(last)} if last else ""


@page(RetriedTask)
class RetriedTaskAdmin(TaskAdminBase):
    introduction = _("Tasks that ran more than once.")
    tabs = (
        Tab(
            name="waiting",
            listing="retrying",
            label=_("Waiting to retry"),
            changes=("run", "stop", "change_time", "delete"),
            empty=_("Nothing waits to be tried again."),
        ),
        Tab(
            name="succeeded",
            listing="succeeded_after_retry",
            label=_("Succeeded after a retry"),
            changes=("delete",),
            empty=_("Nothing has succeeded on a second try."),
        ),
        Tab(
            name="failed",
            listing="failed_after_retries",
            label=_("Failed after all retries"),
            changes=("retry", "retry_at", "delete"),
            empty=_("Nothing has failed for good after a retry."),
        ),
        Tab(
            name="by_hand",
            listing="retried_by_hand",
            label=_("Retried by hand"),
            changes=("retry", "retry_at", "run", "stop", "cancel", "delete"),
            empty=_("Nobody has retried a task by hand."),
        ),
        Tab(
            name="all",
            listing="retried",
            label=pgettext_lazy("tasks", "All"),
            changes=("retry", "retry_at", "run", "stop", "cancel", "delete"),
            empty=_("Nothing has needed a second try."),
        ),
    )
    row_changes = ("retry", "run", "stop")
    list_filter: ClassVar[Any] = (QueueFilter, TaskFilter)
    list_display = (
        "task_column",
        "state_column",
        "tries_column",
        "last_error_column",
        "next_or_end_column",
        "retried_by_column",
        "queue_column",
    )

    def top_line(self) -> Any:
        """Return how much was tried again in the last hour, and what became of the latest that were."""
        since = DatabaseNow() - timedelta(hours=1)
        counted = TaskStat.objects.filter(seconds=TaskStat.MINUTE, start__gte=since).aggregate(retries=Sum("retried"))
        if not counted["retries"]:
            return ""
        ended = Q(finished_at__gte=since)
        found = (
            Selection("retried")
            .rows()[:CAP]
            .aggregate(
                succeeded=Count("pk", filter=ended & Q(state=State.SUCCESSFUL)),
                failed=Count("pk", filter=ended & Q(state=State.FAILED)),
            )
        )
        said = gettext("Retries this hour: %(retries)s · %(succeeded)s succeeded · %(failed)s failed for good")
        return said % {name: numbers.whole(count) for name, count in {**counted, **found}.items()}
