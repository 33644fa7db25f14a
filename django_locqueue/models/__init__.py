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
