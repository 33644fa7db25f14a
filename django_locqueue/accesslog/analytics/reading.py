"""What a page asks of the counts. Each function needs a fixed number of queries, whatever the period holds."""

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Max, QuerySet, Sum, Window

from django_locqueue.accesslog.analytics import keys, sketch
from django_locqueue.accesslog.analytics.histogram import merged, percentile
from django_locqueue.accesslog.analytics.period import HOUR, Period
from django_locqueue.accesslog.analytics.sketch import Distinct
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.models import HourlyStat, Location
from django_locqueue.accesslog.prefix import network_prefix

Dimension = HourlyStat.Dimension

P95 = 0.95

# More countries than there are, each in some spellings: they are put together here, and not in the database.
MOST_COUNTRIES = 1000


@dataclass(frozen=True, slots=True)
class Figures:
    """What is known of some requests. Times in ms; ``p95_ms`` is right to a tenth, and None if there were none."""

    hits: int = 0
    errors: int = 0  # 5xx
    total_ms: float = 0.0
    longest_ms: float = 0.0
    p95_ms: float | None = None

    @property
    def error_share(self) -> float:
        """From 0 to 1."""
        return self.errors / self.hits if self.hits else 0.0

    @property
    def mean_ms(self) -> float | None:
        return self.total_ms / self.hits if self.hits else None


@dataclass(frozen=True, slots=True)
class Totals:
    """All requests of some hours. ``figures`` and ``visitors`` are of bots too only if they were asked for.

    ``visitors``: different addresses. ``bots``: requests of bots, among ``everything``; always of all requests.
    """

    figures: Figures = Figures()
    visitors: Distinct = Distinct(0, is_exact=True)
    bots: int = 0
    everything: int = 0

    @property
    def bot_share(self) -> float:
        """From 0 to 1."""
        return self.bots / self.everything if self.everything else 0.0


@dataclass(frozen=True, slots=True)
class Hour:
    """A bar of a chart: when it begins (UTC), and what was in it."""

    start: datetime.datetime
    hits: int = 0
    errors: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """The hours of a period that are over, and the same of the period before: the running one would look like a loss."""

    now: Totals
    before: Totals


@dataclass(frozen=True, slots=True)
class Overview:
    """A period at a glance. ``hours``: one for each, in order, also those without a request.

    ``comparison``: None if it was not asked for, or no hour of the period is over.
    """

    period: Period
    totals: Totals
    hours: list[Hour]
    comparison: Comparison | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a table. ``share``: of the requests of the whole table, from 0 to 1.

    ``key``: what ``within`` and ``series`` take; ``label``: as a person reads it, in the present language.
    ``place``: where an address is; empty for all else.
    """

    key: str
    label: str
    share: float
    figures: Figures
    place: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The busiest keys of a dimension. ``hits``: of all its keys, also of those that are not among the entries."""

    dimension: str
    hits: int = 0
    entries: list[Entry] = field(default_factory=list)


def change(now: float | None, before: float | None) -> float | None:
    """Return by how much it grew: 0.04 is 4 % more. None if there is nothing to compare with."""
    return None if now is None or not before else now / before - 1


def overview(period: Period, now: datetime.datetime, *, bots: bool = False, compare: bool = True) -> Overview:
    """Return what happened in the period. One query."""
    rows = list(_counted(Dimension.ALL, Period(period.before.start, period.end) if compare else period))
    own = [row for row in rows if row.hour >= period.start]
    return Overview(
        period=period,
        totals=_totals(own, bots=bots),
        hours=_hours(own, period, bots=bots),
        comparison=_comparison(rows, period, now, bots=bots) if compare else None,
    )


def top(dimension: str, period: Period, *, limit: int = 10, bots: bool = False, within: str = "") -> Table:
    """Return the keys of a dimension with the most requests, the busiest first. Two queries; three for addresses.

    ``within``: only provinces or cities of this country, only cities of this province; the ``key`` of its entry.
    """
    rows = _counted(dimension, period, bots=bots)
    if within:
        rows = rows.filter(key__startswith=within + keys.SEPARATOR)
    is_country = dimension == Dimension.COUNTRY
    # One more than wanted: what is left over, if it is among them, gets no line.
    groups = _groups(rows, MOST_COUNTRIES if is_country else limit + 1)
    return _table(dimension, rows, groups, limit)


def series(dimension: str, key: str, period: Period, *, bots: bool = True) -> list[Hour]:
    """Return the hours of one key; all of them, also those without a request. One query."""
    return _hours(_counted(dimension, period).filter(key=key), period, bots=bots)


def countries(period: Period) -> list[tuple[str, str]]:
    """Return code and name of each country that somebody came from, those with the most requests first. One query."""
    groups = _groups(_counted(Dimension.COUNTRY, period), MOST_COUNTRIES)
    return [(country, name) for country, name in _named_countries(groups).items() if _is_code(country)]
