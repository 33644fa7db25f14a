"""How many requests were not logged, over all processes."""

import datetime

from django.db import router
from django.db.models import Sum

from django_locqueue import task
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.models import Loss
from django_locqueue.accesslog.storage import moment

PRIORITY = -10  # as the hits themselves


@task(queue_name=access_log.QUEUE_NAME, priority=PRIORITY, max_attempts=10, keep_result=False)
def record_loss(loss_id: str, time: float, dropped: int, refused: int, errors: int) -> None:
    """Store what a process lost since it last said so, once however often it runs. ``time``: seconds since 1970."""
    loss = Loss(loss_id=loss_id, time=moment(time), dropped=dropped, refused=refused, errors=errors)
    Loss.objects.using(router.db_for_write(Loss)).bulk_create([loss], ignore_conflicts=True)


def lost_since(start: datetime.datetime) -> int:
    """Return how many requests were not logged, for whichever reason, since ``start``: one query."""
    counts = ("dropped", "refused", "errors")
    sums = Loss.objects.filter(time__gte=start).aggregate(*map(Sum, counts))
    return sum(count or 0 for count in sums.values())
