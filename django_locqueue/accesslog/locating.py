"""Locates networks: new ones, those that somebody wants to be located again, and all when there are other data."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from django_locqueue import QueueFull, Unique, schedule, task
from django_locqueue.accesslog.asking import LOCATE_PRIORITY, look_up
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.geo.chain import current_chain
from django_locqueue.accesslog.models import Location
from django_locqueue.accesslog.networks import request_locations, withdraw_requests
from django_locqueue.accesslog.places import present_version, write_places
from django_locqueue.accesslog.primary import primary

NETWORKS = 500  # in one task, and in one statement
BATCHES = 20  # of those in one run of a refresh; then others have their turn
REFRESH_SECONDS = 3600


@task(
    queue_name=access_log.QUEUE_NAME,
    priority=LOCATE_PRIORITY,
    max_attempts=5,
    keep_result=False,  # it stands in the locations
    unique=Unique("networks", unique_items="private_prefixes"),
)
def locate(private_prefixes: list[str]) -> None:
    """Find the places of networks. Each is in one waiting task only.

    A place that nobody knows is an answer too: the state is ``unknown``, and nothing is tried again for a while. The
    argument has its name so that the pages of tasks mask it: with a PREFIX_V4 of 32 there are addresses in it.
    """
    write_places(dict.fromkeys(look_up(private_prefixes)))


def request_locating(prefixes: Iterable[str]) -> int:
    """Have those networks located that were never seen, or should be by now; return how many.

    In the transaction of the visits from there: a network is never on record without its task, unless the queue is
    full; then the next visit asks for it again.
    """
    networks = request_locations(prefixes, timezone.now())
    try:
        locate.enqueue_many([((), {"private_prefixes": some}) for some in _batches(networks)])
    except QueueFull:
        withdraw_requests(networks)
        return 0
    return len(networks)


def relocate(locations: "QuerySet[Location]") -> int:
    """Have these networks located again, in the background; return how many.

    What is known of them stays until there is an answer. Raises QueueFull where the queue takes no more.
    """
    count, last = 0, ""
    while prefixes := list(locations.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:NETWORKS]):
        locate.enqueue(private_prefixes=prefixes)
        count, last = count + len(prefixes), prefixes[-1]
    return count


@schedule(every=REFRESH_SECONDS)
@task(
    queue_name=access_log.QUEUE_NAME,
    priority=LOCATE_PRIORITY,
    max_attempts=5,
    takes_context=True,
    keep_result=False,
    unique=Unique("all"),
)
def refresh_locations(context: Any, version: str = "") -> None:
    """Locate what was located with other data than those that are there now, some thousand networks in one run.

    ``version``: of the data that the run before had; who has others, on another machine, leaves it at that.
    """
    present = present_version()
    # Where a file is missing for the moment, good places must not make room for worse ones.
    if not present or not current_chain().is_whole or version not in ("", present):
        return
    batches = _outdated(present)
    for rows in islice(batches, BATCHES):
        context.check()
        _refresh(rows, present)
    if next(batches, None):
        refresh_locations.enqueue(version=present)


def _outdated(version: str) -> Iterator[Sequence[Location]]:
    """Yield batches of networks that were located with other data, as long as there are any."""
    # Two ends of one index, which cannot find what is not equal; in its order, else it is not taken for the first few.
    locations = primary(Location)
    for outdated in (locations.filter(data_version__lt=version), locations.filter(data_version__gt=version)):
        while rows := list(outdated.order_by("data_version").only("prefix", "state", "provider")[:NETWORKS]):
            yield rows


def _refresh(rows: Sequence[Location], version: str) -> None:
    services = current_chain().services
    for_files = [row.prefix for row in rows if row.state != Location.State.PENDING and row.provider not in services]
    write_places(dict.fromkeys(look_up(for_files)))
    # What a service has said does not depend on them, and what it will say neither.
    looked_at = primary(Location).filter(pk__in=[row.prefix for row in rows])
    looked_at.exclude(data_version=version).update(data_version=version)


def _batches(networks: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(networks), NETWORKS):
        yield list(networks[start : start + NETWORKS])
