"""Django's task framework, from Django 6.0 on or from its backport. The only file that knows there are two.

Names are those of Django; the backport calls two of its exceptions differently.
"""

import logging

from django.core.exceptions import ImproperlyConfigured
from django.dispatch import Signal

try:
    from django import tasks
    from django.tasks import base, exceptions, signals
    from django.tasks.backends import base as backends
    from django.tasks.backends import dummy, immediate
    from django.utils.json import normalize_json as normalize_json

    InvalidTask = exceptions.InvalidTask
except ImportError:
    try:
        import django_tasks as tasks  # type: ignore[no-redef]
        from django_tasks import base, exceptions, signals  # type: ignore[no-redef]
        from django_tasks.backends import base as backends  # type: ignore[no-redef]
        from django_tasks.backends import dummy, immediate  # type: ignore[no-redef]
        from django_tasks.utils import normalize_json as normalize_json

        InvalidTask = exceptions.InvalidTaskError  # type: ignore[attr-defined, misc]
    except ImportError as error:
        raise ImproperlyConfigured(
            "Django before 6.0 has no task framework. Install its backport: pip install 'django-locqueue[backport]'"
        ) from error

DEFAULT_TASK_BACKEND_ALIAS = tasks.DEFAULT_TASK_BACKEND_ALIAS
DEFAULT_TASK_QUEUE_NAME = tasks.DEFAULT_TASK_QUEUE_NAME
TaskResultStatus = tasks.TaskResultStatus
task_backends = tasks.task_backends
BaseTaskBackend = backends.BaseTaskBackend
DummyBackend = dummy.DummyBackend
ImmediateBackend = immediate.ImmediateBackend
DEFAULT_TASK_PRIORITY = base.DEFAULT_TASK_PRIORITY
TASK_MAX_PRIORITY = base.TASK_MAX_PRIORITY
TASK_MIN_PRIORITY = base.TASK_MIN_PRIORITY
TASK_REFRESH_ATTRS = base.TASK_REFRESH_ATTRS
Task = base.Task
TaskContext = base.TaskContext
TaskError = base.TaskError
TaskResult = base.TaskResult
TaskResultDoesNotExist = exceptions.TaskResultDoesNotExist
TaskResultMismatch = exceptions.TaskResultMismatch
task_enqueued = signals.task_enqueued
task_finished = signals.task_finished
task_started = signals.task_started

IS_DJANGO = BaseTaskBackend.__module__.startswith("django.")
LOGGER_NAME = "django.tasks" if IS_DJANGO else "django_tasks"

_logger = logging.getLogger(LOGGER_NAME)
_own_receivers = {
    task_enqueued: id(signals.log_task_enqueued),
    task_started: id(signals.log_task_started),
    task_finished: id(signals.log_task_finished),
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
