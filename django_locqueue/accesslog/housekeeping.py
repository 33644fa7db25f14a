"""What the worker does to the log besides filling it: deletes what is old, and forgets who is gone."""

import datetime
import time
from typing import Any

from django.utils import timezone

from django_locqueue import Snooze, Unique, schedule, task
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.privacy.forgetting import forget_rows, rows_of_users
from django_locqueue.accesslog.retention import prune
from django_locqueue.accesslog.storage import moment

HOUSEKEEPING_PRIORITY = -30  # below the log's own tasks

# Seconds until a worker that was asked to leave has gone.
GO_ON_AFTER = 60
# Of users who are deleted, requests may be under way for as long as the queue is away.
LAST_LOOK_AFTER = datetime.timedelta(hours=6)


@schedule("23 3 * * *")
@task(
    queue_name=access_log.QUEUE_NAME,
    priority=HOUSEKEEPING_PRIORITY,
    takes_context=True,
    max_attempts=3,
    unique=Unique("locqueue-accesslog-prune", until="finished"),
)
def prune_access_log(context: Any) -> dict[str, int]:
    """Delete what is older than ``RETENTION_DAYS`` and ``ROLLUP_RETENTION_DAYS``; return how much."""
    deleted = prune(should_stop=lambda: context.should_stop)
    if context.should_stop:
        raise Snooze(GO_ON_AFTER)
    return deleted


@task(queue_name=access_log.QUEUE_NAME, priority=HOUSEKEEPING_PRIORITY, max_attempts=10)
def forget_users(keys: list[int | str], until: float | None = None) -> int:
    """Take users who were deleted out of the log; return of how many requests. ``until``: seconds since 1970.

    It does so twice: what they had just requested may not have been stored yet.
    """
    # Not the time of the deletion, which began earlier: until it was committed, the users could make requests. Nor the
    # time of the second look: somebody else may have a name by then that is a key.
    began = time.time()
    rows = rows_of_users(keys)
    forgotten = forget_rows(rows if until is None else rows.filter(time__lt=moment(until)))
    if until is None and forget_users.get_backend().supports_defer:
        forget_users.using(run_after=timezone.now() + LAST_LOOK_AFTER).enqueue(keys, until=began)
    return forgotten
