from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

if apps.apps_ready and not apps.is_installed("django_locqueue"):
    # Before the models do: their own words are "doesn't declare an explicit app_label".
    raise ImproperlyConfigured('django_locqueue is used, but not installed: add "django_locqueue" to INSTALLED_APPS.')

from django_locqueue.models.activity import Activity, BulkOperation
from django_locqueue.models.end_counts import ErrorCount, ErrorGroup, TaskStat
from django_locqueue.models.limit import Limit
from django_locqueue.models.listing import FailedTask, Overview, PendingTask, RetriedTask, RunningTask
from django_locqueue.models.queue import Queue
from django_locqueue.models.schedule import Schedule, ScheduleRun
from django_locqueue.models.task import (
    FINISHED,
    STARTABLE,
    WAITING,
    State,
    Task,
    TaskAttempt,
    UniqueItem,
    turn,
    turn_of,
)
from django_locqueue.models.worker import Worker
from django_locqueue.models.workflow import Workflow

__all__ = [
    "FINISHED",
    "STARTABLE",
    "WAITING",
    "Activity",
    "BulkOperation",
    "ErrorCount",
    "ErrorGroup",
    "FailedTask",
    "Limit",
    "Overview",
    "PendingTask",
    "Queue",
    "RetriedTask",
    "RunningTask",
    "Schedule",
    "ScheduleRun",
    "State",
    "Task",
    "TaskAttempt",
    "TaskStat",
    "UniqueItem",
    "Worker",
    "Workflow",
    "turn",
    "turn_of",
]
