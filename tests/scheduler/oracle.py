"""When a cron rule comes, found out minute by minute: what the scheduler's answers are compared with.

Knows numbers, ranges, steps and lists only. Nothing here is shared with what it judges.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE = timedelta(minutes=1)
LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))


def values_of(field: str, first: int, last: int) -> set[int]:
    values: set[int] = set()
    for term in field.split(","):
        span, _, step = term.partition("/")
        if span == "*":
            low, high = first, last
        elif "-" in span:
            low, high = map(int, span.split("-"))
        else:
            low, high = int(span), last if step else int(span)
        values.update(range(low, high + 1, int(step or 1)))
    return values


class Oracle:
    def __init__(self, text: str, zone: ZoneInfo) -> None:
        self.fields = text.split()
        self.zone = zone
        self.values = [values_of(field, *limits) for field, limits in zip(self.fields, LIMITS, strict=True)]
        self.goes_by_the_wall = self.fields[0].startswith("*") or self.fields[1].startswith("*")

    def matches(self, wall: datetime) -> bool:
        minutes, hours, days, months, weekdays = self.values
        if wall.minute not in minutes or wall.hour not in hours or wall.month not in months:
            return False
        on_day = wall.day in days
        on_weekday = wall.isoweekday() % 7 in weekdays or (wall.isoweekday() == 7 and 7 in weekdays)
        both = self.fields[2].startswith("*") or self.fields[4].startswith("*")
        return (on_day and on_weekday) if both else (on_day or on_weekday)

    def between(self, begin: datetime, end: datetime) -> list[datetime]:
        """Return the times after ``begin`` up to ``end``."""
        found: set[datetime] = set()
        at = begin.replace(second=0, microsecond=0)
        while at <= end:
            here = at.astimezone(self.zone).replace(tzinfo=None)
            before = (at - MINUTE).astimezone(self.zone).replace(tzinfo=None)
            if self.goes_by_the_wall:
                if self.matches(here):
                    found.add(at)
            elif at.astimezone(self.zone).fold == 0:
                # This minute, and all that the clock has left out just before it.
                wall = before + MINUTE if here > before else here
                while wall <= here:
                    if self.matches(wall):
                        found.add(at)
                    wall += MINUTE
            at += MINUTE
        return sorted(each for each in found if begin < each <= end)


def utc(year: int, month: int, day: int, *time: int) -> datetime:
    return datetime(year, month, day, *time, tzinfo=UTC)  # type: ignore[misc, arg-type]
