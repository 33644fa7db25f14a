"""A task queue for Django that lives in the site's own database."""

from typing import TYPE_CHECKING

from django_locqueue.exceptions import Cancel, ChunkFailed, DuplicateTask, QueueFull, Retry, Snooze
from django_locqueue.origin import Origin, current_origin
from django_locqueue.policies.chunk import ChunkCall
from django_locqueue.policies.unique import Unique

if TYPE_CHECKING:
    from django_locqueue.definition import task
    from django_locqueue.scheduler.defined import schedule
    from django_locqueue.workflow import chain, group

__version__ = "0.1.0"

__all__ = [
    "Cancel",
    "ChunkCall",
    "ChunkFailed",
    "DuplicateTask",
    "Origin",
    "QueueFull",
    "Retry",
    "Snooze",
    "Unique",
    "chain",
    "current_origin",
    "group",
    "schedule",
    "task",
]


def __getattr__(name: str) -> object:
    # `task` imports Django's task framework, which needs settings; the package itself must import without them,
    # because INSTALLED_APPS and the build read it first.
    if name == "task":
        from django_locqueue.definition import task

        return task
    if name in ("chain", "group"):
        from django_locqueue import workflow

        return getattr(workflow, name)
    if name == "schedule":
        from django_locqueue.scheduler.defined import schedule

        return schedule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
