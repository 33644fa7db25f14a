"""What the worker does with hits. This module is where it finds the access log's tasks."""

import time
from typing import Any

from django.db import transaction

from django_locqueue import task
from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.analytics.tasks import add_up_days, count_hours
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.housekeeping import forget_users, prune_access_log
from django_locqueue.accesslog.locating import locate, refresh_locations, request_locating
from django_locqueue.accesslog.losses import record_loss
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.primary import primary
from django_locqueue.accesslog.storage import insert_hits

# This module is where a worker finds the tasks of an app.
__all__ = [
    "add_up_days",
    "count_hours",
    "forget_users",
    "locate",
    "prune_access_log",
    "record_hits",
    "refresh_locations",
]

# Below the site's own tasks: a visitor's mail goes out before the log of the visit is complete.
RECORD_PRIORITY = -10


# Its arguments hold what the log holds, addresses among it: when they are stored there they are stored nowhere else.
@task(queue_name=access_log.QUEUE_NAME, priority=RECORD_PRIORITY, max_attempts=10, keep_result=False)
def record_hits(private_hits: list[Any]) -> dict[str, int]:
    """Store a batch of ``Hit.to_json`` lists, once however often it runs; return what became of it.

    ``networks``: how many are to be located. Rows, networks and their tasks are one transaction. Where nothing can be
    stored it raises and is tried again, with a newer worker perhaps; what is bad among good ones is counted as lost.
    The argument has its name so that the pages of tasks mask it: there are addresses in it.
    """
    with transaction.atomic(using=primary(AccessLog).db):
        good, bad = insert_hits(private_hits)
        mark_stale(row.time for row in good)
        if bad:
            # The id of a hit, as a report's, is given once: a batch that runs twice adds nothing.
            record_loss.func(good[0].hit_id, time.time(), dropped=0, refused=bad, errors=0)
        networks = request_locating({row.prefix for row in good if row.prefix is not None})
    return {"stored": len(good), "bad": bad, "networks": networks}
