"""The kinds of failures that were met most often of late."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django_locqueue.models import ErrorGroup
from django_locqueue.observability.history import Failures, failures

LOOKED_AT = 50  # kinds, those that were met last


def frequent_errors(span: timedelta, *, now: datetime, most: int, hours: str) -> Sequence[tuple[ErrorGroup, int]]:
    """Return kinds with how often each was met, the most frequent first. Two statements.

    ``hours``: the field of :class:`Failures` that covers the span; it counts whole clock hours.
    """
    # Read from the index of the last time; what is older than the span was not met in it.
    found = list(ErrorGroup.objects.order_by("-last_seen")[:LOOKED_AT])
    groups = [group for group in found if group.last_seen >= now - span]
    counts: dict[str, Failures] = failures([group.pk for group in groups], now=now) if groups else {}
    counted = [(group, int(getattr(counts[group.pk], hours))) for group in groups]
    return sorted(counted, key=lambda pair: -pair[1])[:most]
