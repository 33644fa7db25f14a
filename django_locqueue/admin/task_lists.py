"""The lists of tasks: what waits, runs, failed, and was tried again."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from django_locqueue.admin.pages import page
from django_locqueue.admin.tabs import Tab
from django_locqueue.admin.task_base import TaskAdminBase, with_worker
from django_locqueue.models import FailedTask, PendingTask, RetriedTask, RunningTask, State, orderings
from django_locqueue.models.task import TaskQuerySet


@page(PendingTask)
class PendingTaskAdmin(TaskAdminBase):
    tabs = (
        Tab(
            name="ready",
            label=_("Ready"),
            rows=TaskQuerySet.ready,
            ordering=orderings.READY,
            changes=("cancel", "delete"),
            empty=_("Nothing is waiting."),
            indexed_by_queue=True,
        ),
        Tab(
            name="scheduled",
            label=_("Scheduled"),
            rows=TaskQuerySet.scheduled,
            ordering=orderings.SCHEDULED,
            changes=("run", "cancel", "delete"),
            empty=_("Nothing waits for its time."),
        ),
        Tab(
            name="blocked",
            label=_("Blocked"),
            rows=TaskQuerySet.limited,
            ordering=orderings.LIMITED,
            changes=("cancel", "delete"),
            empty=_("Nothing waits for its turn under a limit."),
            indexed_by_queue=True,
        ),
    )
    row_changes = ("run", "cancel")
    list_display = (
        "task_column",
        "queue_column",
        "when_column",
        "waiting_column",
        "priority_column",
        "attempt_column",
    )


@page(RunningTask)
class RunningTaskAdmin(TaskAdminBase):
    tabs = (
        Tab(
            name="running",
            label=_("Running"),
            rows=TaskQuerySet.running,
            ordering=orderings.RUNNING,
            changes=("cancel",),
            empty=_("Nothing is running right now."),
            is_live=True,
        ),
    )
    row_changes = ("cancel",)
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
            label=_("Failed"),
            rows=lambda rows: orderings.in_finished_index(rows).filter(state=State.FAILED),
            ordering=orderings.FINISHED,
            changes=("retry", "delete"),
            empty=_("No failed tasks."),
        ),
    )
    row_changes = ("retry",)
    list_display = (
        "task_column",
        "error_column",
        "queue_column",
        "worker_column",
        "attempt_column",
        "failed_column",
    )


@page(RetriedTask)
class RetriedTaskAdmin(TaskAdminBase):
    introduction = _("Tasks that ran more than once, or wait to be tried again.")
    tabs = (
        Tab(
            name="all",
            label=_("All"),
            rows=TaskQuerySet.retried,
            ordering=orderings.NEWEST,
            changes=("retry", "run", "cancel", "delete"),
            empty=_("Nothing has needed a second try."),
        ),
        Tab(
            name="waiting",
            label=_("Waiting to retry"),
            rows=TaskQuerySet.scheduled,
            narrowed=TaskQuerySet.retrying,
            ordering=orderings.SCHEDULED,
            changes=("run", "cancel", "delete"),
            empty=_("Nothing waits to be tried again."),
        ),
        Tab(
            name="succeeded",
            label=_("Succeeded after a retry"),
            rows=TaskQuerySet.retried,
            narrowed=lambda rows: orderings.with_state(rows, State.SUCCESSFUL),
            ordering=orderings.NEWEST,
            changes=("delete",),
            empty=_("Nothing has succeeded on a second try."),
        ),
        Tab(
            name="failed",
            label=_("Failed after all retries"),
            rows=TaskQuerySet.retried,
            narrowed=lambda rows: orderings.with_state(rows, State.FAILED),
            ordering=orderings.NEWEST,
            changes=("retry", "delete"),
            empty=_("Nothing has failed for good after a retry."),
        ),
    )
    row_changes = ("retry", "run")
    list_display = (
        "task_column",
        "state_column",
        "attempt_column",
        "error_column",
        "next_or_end_column",
        "queue_column",
    )
