"""Which networks are to be located. Called by tasks, inside their transaction."""

import datetime
from collections.abc import Iterable

from django.db.models import F, Q

from django_locqueue.accesslog.conf import geo
from django_locqueue.accesslog.geo.chain import current_chain
from django_locqueue.accesslog.models import Location
from django_locqueue.accesslog.primary import primary

State = Location.State

# A lookup takes milliseconds, and its task is retried for minutes. What is pending after an hour has no task any more:
# it failed for good, or was deleted. Should it only have waited that long, the network is located twice, to one end.
# And one that nobody could be asked for is tried again.
LOCATE_AGAIN_AFTER = datetime.timedelta(hours=1)


def request_locations(prefixes: Iterable[str], now: datetime.datetime) -> list[str]:
    """Insert the networks that were never seen, and take up again those that should be located by now; return both.

    Of two batches at once, one gets each network.
    """
    locations = primary(Location)
    overdue = _overdue(now)
    wanted = set(prefixes)
    settled = locations.filter(~overdue, pk__in=wanted).values_list("pk", flat=True)
    # Sorted: two batches that insert the same networks in different orders would deadlock.
    open_ = sorted(wanted.difference(settled))
    if not open_:
        return []
    locations.bulk_create([Location(pk=prefix, requested_at=now) for prefix in open_], ignore_conflicts=True)
    locations.filter(overdue, pk__in=open_).update(requested_at=now)
    # No database tells which rows an insert that ignores conflicts inserted; those that bear this moment are ours.
    return sorted(locations.filter(pk__in=open_, requested_at=now).values_list("pk", flat=True))


def withdraw_requests(prefixes: Iterable[str]) -> None:
    """Let the next hits from these networks request their locations again."""
    longest = max(LOCATE_AGAIN_AFTER, _unknown_for(), _cached_for())
    primary(Location).filter(pk__in=prefixes).update(requested_at=F("requested_at") - longest)


def _overdue(now: datetime.datetime) -> Q:
    """What is asked again when somebody comes from there.

    By then the data of those whom nobody knew may be there, or newer; and what a service said has grown old. What files
    said is looked at again when they are others (see ``locating.py``).
    """
    services = list(current_chain().services)
    return (
        Q(state__in=(State.PENDING, State.FAILED), requested_at__lt=now - LOCATE_AGAIN_AFTER)
        | Q(state=State.UNKNOWN, requested_at__lt=now - _unknown_for())
        | Q(state=State.LOCATED, provider__in=services, requested_at__lt=now - _cached_for())
    )


def _unknown_for() -> datetime.timedelta:
    return datetime.timedelta(hours=geo("NEGATIVE_HOURS"))


def _cached_for() -> datetime.timedelta:
    return datetime.timedelta(days=geo("CACHE_DAYS"))
