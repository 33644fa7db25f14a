from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

if apps.apps_ready and not apps.is_installed("django_locqueue"):
    # Before the models do: their own words are "doesn't declare an explicit app_label".
    raise ImproperlyConfigured('django_locqueue is used, but not installed: add "django_locqueue" to INSTALLED_APPS.')

from django_locqueue.models.activity import Activity
from django_locqueue.models.attempt import TaskAttempt
from django_locqueue.models.bulk_operation import BulkOperation
from django_locqueue.models.error_group import ErrorCount, ErrorGroup
from django_locqueue.models.limit import Limit
from django_locqueue.models.overview import Overview
from django_locqueue.models.queue import Queue
from django_locqueue.models.schedule import Schedule, ScheduleRun
from django_locqueue.models.task import (
    FINISHED,
    STARTABLE,
    WAITING,
    FailedTask,
    PendingTask,
    RetriedTask,
    RunningTask,
    State,
    Task,
    turn,
    turn_of,
)
from django_locqueue.models.task_stat import TaskStat
from django_locqueue.models.unique_item import UniqueItem
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
