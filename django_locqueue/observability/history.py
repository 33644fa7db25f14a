"""What has ended of late, for pages and commands: read from the buckets that workers add to, never from the tasks.

A fixed number of statements, whatever the period, and however many tasks there are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, Self

from django.db.models import F, QuerySet, Sum

from django_locqueue import clock
from django_locqueue.models import ErrorCount, ErrorGroup, TaskStat
from django_locqueue.policies.histogram import BINS, percentile
from django_locqueue.store import get_store

KINDS_LOOKED_AT = 50  # of failures, those that were met last


class Period(NamedTuple):
    """``seconds`` long, and shown in bars of ``bar_seconds``. Read from rows of ``row_seconds``."""

    name: str
    seconds: int
    bar_seconds: int
    row_seconds: int


PERIODS: Mapping[str, Period] = {
    period.name: period
    for period in (
        Period("15m", 900, 60, TaskStat.MINUTE),
        Period("1h", 3600, 60, TaskStat.MINUTE),
        Period("24h", 86400, 3600, TaskStat.HOUR),
        Period("7d", 7 * 86400, 6 * 3600, TaskStat.HOUR),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """How attempts ended, see :class:`TaskStat`. Seconds are sums; they and the bins are of those with known times."""

    succeeded: int = 0
    failed: int = 0  # for good
    retried: int = 0  # failed, and put back to be tried again
    cancelled: int = 0
    wait_seconds: float = 0.0
    run_seconds: float = 0.0
    wait_bins: tuple[int, ...] = (0,) * BINS
    run_bins: tuple[int, ...] = (0,) * BINS

    @property
    def finished(self) -> int:
        """How many tasks ended for good."""
        return self.succeeded + self.failed + self.cancelled

    @property
    def wait_p50(self) -> float | None:
        """Seconds from when a task might start until it did; None if none is known. So are those below."""
        return percentile(self.wait_bins, 0.5)

    @property
    def wait_p95(self) -> float | None:
        return percentile(self.wait_bins, 0.95)

    @property
    def run_p50(self) -> float | None:
        return percentile(self.run_bins, 0.5)

    @property
    def run_p95(self) -> float | None:
        return percentile(self.run_bins, 0.95)

    @classmethod
    def sum_of(cls, parts: Iterable["Numbers"], **more: Any) -> Self:
        """Return the sum, with ``more`` fields of a subclass."""
        parts = list(parts)
        sums: dict[str, Any] = {name: sum(getattr(part, name) for part in parts) for name in _SUMS}
        for name in _BINS if parts else ():
            sums[name] = tuple(map(sum, zip(*(getattr(part, name) for part in parts), strict=True)))
        return cls(**sums, **more)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar(Numbers):
    """What ended in ``seconds`` seconds from ``start``. ``is_over``: nothing will be added, but by who is late."""

    start: datetime
    seconds: int
    is_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A period's bars, all of them, also empty ones; the last is not over. The others sum the same up otherwise.

    ``seconds``: from the start of the first bar until now.
    """

    period: Period
    seconds: float
    bars: tuple[Bar, ...]
    total: Numbers
    queues: Mapping[str, Numbers]  # by name
    tasks: Mapping[str, Numbers]  # by path

    def per_minute(self, numbers: Numbers) -> float:
        """Return how many tasks ended for good per minute of this history."""
        return 60.0 * numbers.finished / self.seconds


@dataclass(frozen=True, slots=True)
class Failures:
    """How often a kind of failure was met in the last hour, day and week: in all clock hours that reach into it."""

    hour: int = 0
    day: int = 0
    week: int = 0


def history(period: str, queue: str = "", *, now: datetime | None = None) -> History:
    """Return what ended in a period, of one queue or of all. Three statements. Raises KeyError for another period.

    ``period``: a key of :data:`PERIODS`; its first bar begins at a full minute, hour or six hours of UTC. ``now``: by
    default the database's.
    """
    chosen = PERIODS[period]
    now = get_store().now() if now is None else clock.storable(now)
    last = clock.floor(now, chosen.bar_seconds)
    first = clock.floor(now - timedelta(seconds=chosen.seconds - chosen.bar_seconds), chosen.bar_seconds)
    rows = TaskStat.objects.filter(seconds=chosen.row_seconds, start__gte=first, start__lte=now)
    if queue:
        rows = rows.filter(queue_name=queue)
    bars = _bars(_summed(rows, "start"), chosen, first, last)
    pairs = _summed(rows, "queue_name", "task_path")
    return History(
        period=chosen,
        seconds=(now - first).total_seconds(),
        bars=bars,
        total=Numbers.sum_of(bars),
        queues=_by([(queue_name, numbers) for (queue_name, _), numbers in pairs]),
        tasks=_by([(path, numbers) for (_, path), numbers in pairs]),
    )


# For pages that show it beside a snapshot, whose time they give: as many open tabs as there are cost its three
# statements once.
shared_history = lru_cache(maxsize=32)(history)


def recent(period: str, *, now: datetime, database: str) -> tuple[Mapping[str, Numbers], float]:
    """Return what ended in a period by queue, and how many minutes that is of. One statement."""
    chosen = PERIODS[period]
    first = clock.floor(now - timedelta(seconds=chosen.seconds - chosen.bar_seconds), chosen.bar_seconds)
    rows = TaskStat.objects.using(database).filter(seconds=chosen.row_seconds, start__gte=first, start__lte=now)
    queues = {name: numbers for (name,), numbers in _summed(rows, "queue_name")}
    return queues, (now - first).total_seconds() / 60


def each_minute(queues: Sequence[str], *, now: datetime) -> dict[str, list[int]]:
    """Return how many tasks of each queue ended for good in each minute of the last hour. One statement."""
    first = clock.floor(now - timedelta(minutes=59), 60)
    rows = TaskStat.objects.filter(
        seconds=TaskStat.MINUTE, start__gte=first, start__lte=now, queue_name__in=list(queues)
    )
    counts = {name: [0] * 60 for name in queues}
    ended = Sum(F("succeeded") + F("failed") + F("cancelled"))
    for name, start, count in rows.order_by().values_list("queue_name", "start").annotate(ended=ended):
        counts[name][int((start - first).total_seconds() // 60)] += count
    return counts


def recent_tasks(period: str, *, now: datetime) -> Mapping[str, Numbers]:
    """Return what ended in a period by the path of the task. One statement."""
    chosen = PERIODS[period]
    first = clock.floor(now - timedelta(seconds=chosen.seconds), chosen.bar_seconds)
    rows = TaskStat.objects.filter(seconds=chosen.row_seconds, start__gte=first, start__lte=now)
    return {path: numbers for (path,), numbers in _summed(rows, "task_path")}


def failures(fingerprints: Sequence[str], *, now: datetime | None = None) -> dict[str, Failures]:
    """Return how often these kinds of failures were met of late; of all, also those that were not. One statement."""
    now = get_store().now() if now is None else clock.storable(now)
    hours = {"hour": 1, "day": 24, "week": 7 * 24}
    since = {name: clock.floor(now - timedelta(hours=count), 3600) for name, count in hours.items()}
    counts = {each: dict.fromkeys(since, 0) for each in fingerprints}
    rows = ErrorCount.objects.filter(group__in=list(counts), hour__gte=since["week"])
    for group, hour, count in rows.values_list("group", "hour", "count"):
        for name, start in since.items():
            counts[group][name] += count if hour >= start else 0
    return {each: Failures(**found) for each, found in counts.items()}


def frequent_errors(span: timedelta, *, now: datetime, most: int, hours: str) -> Sequence[tuple[ErrorGroup, int]]:
    """Return kinds with how often each was met, the most frequent first. Two statements.

    ``hours``: the field of :class:`Failures` that covers the span; it counts whole clock hours.
    """
    # Read from the index of the last time; what is older than the span was not met in it.
    found = list(ErrorGroup.objects.order_by("-last_seen")[:KINDS_LOOKED_AT])
    groups = [group for group in found if group.last_seen >= now - span]
    counts = failures([group.pk for group in groups], now=now) if groups else {}
    counted = [(group, int(getattr(counts[group.pk], hours))) for group in groups]
    return sorted(counted, key=lambda pair: -pair[1])[:most]


_BINS = ("wait_bins", "run_bins")
_SUMS = tuple(field.name for field in fields(Numbers) if field.name not in _BINS)
_COLUMNS = (*_SUMS, *(f"{what}_{number}" for what in ("wait", "run") for number in range(BINS)))


def _summed(rows: QuerySet[TaskStat], *by: str) -> list[tuple[tuple[Any, ...], Numbers]]:
    """Return the sum of the rows for each value of the columns ``by``."""
    sums = {f"sum_{name}": Sum(name) for name in _COLUMNS}
    found = []
    for row in rows.order_by().values_list(*by).annotate(**sums).values_list(*by, *sums):
        key, values = row[: len(by)], row[len(by) :]
        plain, bins = dict(zip(_SUMS, values, strict=False)), [int(value) for value in values[len(_SUMS) :]]
        counts = {name: int(plain[name]) for name in TaskStat.COUNTS}
        found.append((key, Numbers(**{**plain, **counts}, wait_bins=tuple(bins[:BINS]), run_bins=tuple(bins[BINS:]))))
    return found


def _bars(
    sums: list[tuple[tuple[Any, ...], Numbers]], period: Period, first: datetime, last: datetime
) -> tuple[Bar, ...]:
    parts: dict[datetime, list[Numbers]] = {}
    for (start,), numbers in sums:
        parts.setdefault(clock.floor(start, period.bar_seconds), []).append(numbers)
    began = clock.timestamp(first)  # naive times, without USE_TZ, may jump in between
    starts = [clock.from_timestamp(began + passed) for passed in range(0, period.seconds, period.bar_seconds)]
    return tuple(
        Bar.sum_of(parts.get(start, ()), start=start, seconds=period.bar_seconds, is_over=start < last)
        for start in starts
    )


def _by(pairs: list[tuple[str, Numbers]]) -> dict[str, Numbers]:
    parts: dict[str, list[Numbers]] = {}
    for name, numbers in pairs:
        parts.setdefault(name, []).append(numbers)
    return {name: Numbers.sum_of(each) for name, each in parts.items()}
