"""Times between the rows, which are as ``USE_TZ`` wants them, and the rules, which reckon in UTC."""

from datetime import UTC, datetime

from django.utils import timezone

from django_locqueue.clock import storable as stored

__all__ = ["instant", "stored"]


def instant(value: datetime) -> datetime:
    """Return a time of a row in UTC. A naive one is in the project's time zone."""
    if timezone.is_naive(value):
        value = timezone.make_aware(value, timezone.get_default_timezone())
    return value.astimezone(UTC)
