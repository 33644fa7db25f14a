"""Django's task framework, from Django 6.0 on or from its backport. The only file that knows there are two.

Names are those of Django; the backport calls two of its exceptions differently.
"""

import logging

from django.core.exceptions import ImproperlyConfigured
from django.dispatch import Signal

try:
    from django.tasks import DEFAULT_TASK_BACKEND_ALIAS, DEFAULT_TASK_QUEUE_NAME, TaskResultStatus, task_backends
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.backends.dummy import DummyBackend
    from django.tasks.backends.immediate import ImmediateBackend
    from django.tasks.base import (
        DEFAULT_TASK_PRIORITY,
        TASK_MAX_PRIORITY,
        TASK_MIN_PRIORITY,
        TASK_REFRESH_ATTRS,
        Task,
        TaskContext,
        TaskError,
        TaskResult,
    )
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist, TaskResultMismatch
    from django.tasks.signals import (
        log_task_enqueued,
        log_task_finished,
        log_task_started,
        task_enqueued,
        task_finished,
        task_started,
    )
    from django.utils.json import normalize_json
except ImportError:
    try:
        from django_tasks import (  # type: ignore[assignment]
            DEFAULT_TASK_BACKEND_ALIAS,
            DEFAULT_TASK_QUEUE_NAME,
            TaskResultStatus,
            task_backends,
        )
        from django_tasks.backends.base import BaseTaskBackend  # type: ignore[assignment]
        from django_tasks.backends.dummy import DummyBackend  # type: ignore[assignment]
        from django_tasks.backends.immediate import ImmediateBackend  # type: ignore[assignment]
        from django_tasks.base import (  # type: ignore[assignment]
            DEFAULT_TASK_PRIORITY,
            TASK_MAX_PRIORITY,
            TASK_MIN_PRIORITY,
            TASK_REFRESH_ATTRS,
            Task,
            TaskContext,
            TaskError,
            TaskResult,
        )
        from django_tasks.exceptions import InvalidTaskError as InvalidTask  # type: ignore[assignment]
        from django_tasks.exceptions import (  # type: ignore[assignment]
            TaskResultDoesNotExist,
            TaskResultMismatch,
        )
        from django_tasks.signals import (  # type: ignore[assignment]
            log_task_enqueued,
            log_task_finished,
            log_task_started,
            task_enqueued,
            task_finished,
            task_started,
        )
        from django_tasks.utils import normalize_json
    except ImportError as error:
        raise ImproperlyConfigured(
            "Django before 6.0 has no task framework. Install its backport: pip install 'django-locqueue[backport]'"
        ) from error

IS_DJANGO = BaseTaskBackend.__module__.startswith("django.")
LOGGER_NAME = "django.tasks" if IS_DJANGO else "django_tasks"

_logger = logging.getLogger(LOGGER_NAME)
_own_receivers = {
    task_enqueued: id(log_task_enqueued),
    task_started: id(log_task_started),
    task_finished: id(log_task_finished),
}


def is_heard(signal: Signal, level: int) -> bool:
    """Whether anybody would notice a signal that the framework logs at ``level``.

    Its own receiver, which writes a log line, is always connected; where that is the only one and nobody reads the
    line, the signal and the result that it carries need not be made.
    """
    receivers = signal.receivers
    if len(receivers) != 1 or receivers[0][0][0] != _own_receivers[signal]:
        return bool(receivers)
    return _logger.isEnabledFor(level)


__all__ = [
    "DEFAULT_TASK_BACKEND_ALIAS",
    "DEFAULT_TASK_PRIORITY",
    "DEFAULT_TASK_QUEUE_NAME",
    "IS_DJANGO",
    "LOGGER_NAME",
    "TASK_MAX_PRIORITY",
    "TASK_MIN_PRIORITY",
    "TASK_REFRESH_ATTRS",
    "BaseTaskBackend",
    "DummyBackend",
    "ImmediateBackend",
    "InvalidTask",
    "Task",
    "TaskContext",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultMismatch",
    "TaskResultStatus",
    "is_heard",
    "normalize_json",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]
