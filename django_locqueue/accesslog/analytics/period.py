"""A stretch of whole hours: what the analytics are asked about."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

from django.utils import timezone

HOUR = datetime.timedelta(hours=1)


def hour_of(moment: datetime.datetime) -> datetime.datetime:
    """Return the beginning of the hour, in UTC (with ``USE_TZ`` off: as the rows have it)."""
    if timezone.is_aware(moment):
        moment = moment.astimezone(datetime.UTC)  # there are zones whose hours begin at half past
    return moment.replace(minute=0, second=0, microsecond=0)


@dataclass(frozen=True, slots=True)
class Period:
    """``start`` belongs to it, ``end`` does not. Both are beginnings of hours, and ``start`` is before ``end``."""

    start: datetime.datetime
    end: datetime.datetime

    def __post_init__(self) -> None:
        if self.start >= self.end or hour_of(self.start) != self.start or hour_of(self.end) != self.end:
            raise ValueError(f"a period begins and ends with an hour, and has at least one; got {self}")

    @classmethod
    def last(cls, hours: int, now: datetime.datetime | None = None) -> "Period":
        """Return the last hours; the one that has just begun is the last of them."""
        end = hour_of(now or timezone.now()) + HOUR
        return cls(end - hours * HOUR, end)

    @property
    def before(self) -> "Period":
        """As many hours, up to where this one begins."""
        return Period(self.start - (self.end - self.start), self.start)

    def hours(self) -> Iterator[datetime.datetime]:
        hour = self.start
        while hour < self.end:
            yield hour
            hour += HOUR

    def __str__(self) -> str:
        return f"{self.start:%Y-%m-%d %H:%M} to {self.end:%Y-%m-%d %H:%M}"
