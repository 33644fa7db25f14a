"""What the worker does to the log besides filling it: deletes what is old, and forgets who is gone."""

import datetime
from typing import Any

from django.utils import timezone

from django_locqueue import Snooze, Unique, schedule, task
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.privacy.forgetting import forget
from django_locqueue.accesslog.retention import prune

HOUSEKEEPING_PRIORITY = -30  # below the log's own tasks

# Seconds until a worker that was asked to leave has gone.
GO_ON_AFTER = 60
# Of a user who is deleted, requests may be under way for as long as the queue is away.
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
def forget_user(user_id: int | str, is_last: bool = False) -> int:
    """Take a user who was deleted out of the log; return of how many requests.

    It does so twice: what the user had just requested may not have been stored yet.
    """
    forgotten = forget(user=user_id)
    if not is_last and forget_user.get_backend().supports_defer:
        forget_user.using(run_after=timezone.now() + LAST_LOOK_AFTER).enqueue(user_id, is_last=True)
    return forgotten
