"""How many requests were not logged, over all processes."""

import datetime
from typing import NamedTuple

from django.db.models import F, Sum
from django.db.models.functions import Coalesce

from django_locqueue import task
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.models import Loss
from django_locqueue.accesslog.primary import primary
from django_locqueue.accesslog.storage import moment

PRIORITY = -10  # as the hits themselves


@task(queue_name=access_log.QUEUE_NAME, priority=PRIORITY, max_attempts=10, keep_result=False)
def record_loss(loss_id: str, time: float, dropped: int, refused: int, errors: int) -> None:
    """Store what a process lost since it last said so, once however often it runs. ``time``: seconds since 1970."""
    loss = Loss(loss_id=loss_id, time=moment(time), dropped=dropped, refused=refused, errors=errors)
    primary(Loss).bulk_create([loss], ignore_conflicts=True)


class Lost(NamedTuple):
    """How many requests were not logged, and why."""

    dropped: int  # the buffer was full
    failed: int  # could not be read or stored; the log of the web process or the worker says why


def lost_since(start: datetime.datetime) -> Lost:
    """Return what was lost since ``start``, over all processes: one query."""
    sums = Loss.objects.filter(time__gte=start).aggregate(
        dropped=Coalesce(Sum("dropped"), 0), failed=Coalesce(Sum(F("refused") + F("errors")), 0)
    )
    return Lost(**sums)
