"""The listings of tasks: each is what one index holds, in its order. Pages, commands and bulk operations name them.

Admin lists models, so its lists are models too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_locqueue.clock import DatabaseNow
from django_locqueue.models import orderings
from django_locqueue.models.task import State, Task, TaskQuerySet

OVERDUE_AFTER = timedelta(minutes=5)

Narrowing = Callable[[TaskQuerySet], TaskQuerySet]


@dataclass(frozen=True)
class Listing:
    """Tasks of one kind, in one order.

    ``rows``: what the index holds. ``narrowed``: what of it is meant, if the index does not say. ``time``: the column
    that a period is asked of; the index is in its order if it leads ``ordering``. ``last``: the period that is meant
    where none is named.
    """

    name: str
    rows: Narrowing
    ordering: tuple[str, ...]
    narrowed: Narrowing | None = None
    indexed_by_queue: bool = False
    indexed_by_error: bool = False  # by its kind
    time: str = "enqueued_at"
    last: str = ""

    @property
    def indexed_by_time(self) -> bool:
        return orderings.names(self.ordering)[0] == self.time


def overdue(rows: TaskQuerySet) -> TaskQuerySet:
    """Ready for longer than ``OVERDUE_AFTER``."""
    moment = DatabaseNow() - OVERDUE_AFTER
    return rows.filter(run_after__lte=moment, enqueued_at__lte=moment)


def by_hand(rows: TaskQuerySet) -> TaskQuerySet:
    """Put back by a person."""
    return rows.exclude(retried_by="")


def _ended(state: State) -> Narrowing:
    return lambda rows: orderings.in_finished_index(rows).filter(state=state)


def _in_state(state: State) -> Narrowing:
    return lambda rows: orderings.with_state(rows, state)


LISTINGS = {
    listing.name: listing
    for listing in (
        Listing("ready", TaskQuerySet.ready, orderings.READY, indexed_by_queue=True),
        Listing("overdue", TaskQuerySet.ready, orderings.READY, narrowed=overdue, indexed_by_queue=True),
        Listing("scheduled", TaskQuerySet.scheduled, orderings.SCHEDULED, time="run_after"),
        Listing("blocked", TaskQuerySet.limited, orderings.LIMITED, indexed_by_queue=True),
        Listing("running", TaskQuerySet.running, orderings.RUNNING, time="last_attempted_at"),
        Listing("succeeded", _ended(State.SUCCESSFUL), orderings.FINISHED, time="finished_at"),
        Listing("cancelled", _ended(State.CANCELLED), orderings.FINISHED, time="finished_at"),
        Listing(
            "failed",
            orderings.in_open_index,
            orderings.FINISHED,
            indexed_by_error=True,
            time="finished_at",
        ),
        Listing(
            "dismissed",
            _ended(State.FAILED),
            orderings.FINISHED,
            narrowed=lambda rows: rows.filter(dismissed=True),
            time="finished_at",
        ),
        Listing("retried", TaskQuerySet.retried, orderings.NEWEST),
        Listing(
            "retrying", TaskQuerySet.scheduled, orderings.SCHEDULED, narrowed=TaskQuerySet.retrying, time="run_after"
        ),
        Listing("succeeded_after_retry", TaskQuerySet.retried, orderings.NEWEST, narrowed=_in_state(State.SUCCESSFUL)),
        Listing("failed_after_retries", TaskQuerySet.retried, orderings.NEWEST, narrowed=_in_state(State.FAILED)),
        Listing("retried_by_hand", TaskQuerySet.retried, orderings.NEWEST, narrowed=by_hand),
        Listing("all", lambda rows: rows, orderings.NEWEST, last="24h"),
    )
}


class PendingTask(Task):
    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = _("pending task")
        verbose_name_plural = _("Pending tasks")


class RunningTask(Task):
    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = _("running task")
        verbose_name_plural = _("Running tasks")


class FailedTask(Task):
    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = _("failed task")
        verbose_name_plural = _("Failed tasks")


class RetriedTask(Task):
    class Meta:
        proxy = True
        default_permissions = ()
        verbose_name = _("retried task")
        verbose_name_plural = _("Retried tasks")


class Overview(models.Model):
    """What the overview page stands for in admin. It has no table."""

    class Meta:
        managed = False
        default_permissions = ()  # its page asks for those of tasks
        verbose_name = _("overview")
        verbose_name_plural = _("Overview")

    def __str__(self) -> str:
        return "overview"
