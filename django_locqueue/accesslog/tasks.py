"""What the worker does with hits: store them, and locate the networks they came from."""

from typing import Any

from django.db import router, transaction
from django.utils import timezone

from django_locqueue import QueueFull, task
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.geo.chain import current_chain
from django_locqueue.accesslog.housekeeping import forget_user, prune_access_log
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.prefix import first_address
from django_locqueue.accesslog.storage import insert_hits, request_locations, withdraw_requests

# Found here by whoever looks for an app's tasks.
__all__ = ["forget_user", "locate", "prune_access_log", "record_hits"]

# Below the site's own tasks: a visitor's mail goes out before the log of the visit is complete.
RECORD_PRIORITY = -10
LOCATE_PRIORITY = -20


@task(queue_name=access_log.QUEUE_NAME, priority=LOCATE_PRIORITY, max_attempts=5)
def locate(prefix: str) -> str:
    """Find the place of a network and write it to its row; return the row's new state.

    A place that nobody knows is an answer too: the state is ``unknown``, and for a day nothing is tried again.
    """
    result = current_chain().lookup(first_address(prefix))
    if result is None:
        values: dict[str, Any] = {"state": Location.State.UNKNOWN}
    else:
        values = {
            "state": Location.State.RESERVED if result.is_reserved else Location.State.LOCATED,
            "country_code": result.country_code,
            "country": result.country,
            "province": result.province,
            "city": result.city,
            "district": result.district,
            "isp": result.isp,
            "provider": result.provider,
            "precision": result.precision,
        }
    values["resolved_at"] = timezone.now()
    rows = Location.objects.using(router.db_for_write(Location))
    if not rows.filter(pk=prefix).update(**values):
        # The queue is in another database than the log, and was faster than the log's commit.
        rows.bulk_create([Location(pk=prefix, **values)], ignore_conflicts=True)
    return str(values["state"])


# Its arguments hold what the log holds, addresses among it: when they are stored there they are stored nowhere else.
@task(queue_name=access_log.QUEUE_NAME, priority=RECORD_PRIORITY, max_attempts=10, keep_result=False)
def record_hits(hits: list[Any]) -> dict[str, int]:
    """Store a batch of ``Hit.to_json`` lists, once however often it runs; return what became of it.

    ``networks``: how many are to be located.

    Rows, networks and ``locate`` tasks are one transaction: a network is never on record without its task, unless the
    queue is full; then the next hit from there asks for it again.
    """
    with transaction.atomic(using=router.db_for_write(AccessLog)):
        good, bad = insert_hits(hits)
        networks = request_locations({row.prefix for row in good if row.prefix is not None}, timezone.now())
        if networks:
            try:
                locate.enqueue_many([((prefix,), {}) for prefix in networks])
            except QueueFull:
                withdraw_requests(networks)
                networks = []
    return {"stored": len(good), "bad": bad, "networks": len(networks)}
