from django.apps import apps
from django.core.exceptions import ImproperlyConfigured

if apps.apps_ready and not apps.is_installed("django_locqueue"):
    # Before the models do: their own words are "doesn't declare an explicit app_label".
    raise ImproperlyConfigured('django_locqueue is used, but not installed: add "django_locqueue" to INSTALLED_APPS.')

from django_locqueue.models.attempt import TaskAttempt
from django_locqueue.models.queue import Queue
from django_locqueue.models.task import (
    FINISHED,
    WAITING,
    FailedTask,
    PendingTask,
    RetriedTask,
    RunningTask,
    State,
    Task,
)
from django_locqueue.models.worker import Worker

__all__ = [
    "FINISHED",
    "WAITING",
    "FailedTask",
    "PendingTask",
    "Queue",
    "RetriedTask",
    "RunningTask",
    "State",
    "Task",
    "TaskAttempt",
    "Worker",
]
