"""What a page asks of the counts. Each function needs a fixed number of queries, whatever the period holds."""

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import BigIntegerField, F, Func, Max, QuerySet, Sum, Window

from django_locqueue.accesslog.analytics import keys, sketch
from django_locqueue.accesslog.analytics.days import Span, rows_in, spans
from django_locqueue.accesslog.analytics.exact import Exact
from django_locqueue.accesslog.analytics.histogram import Histogram, merged, percentile
from django_locqueue.accesslog.analytics.period import Period, hour_of
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
    visitors: Distinct = sketch.NONE
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
    """The hours of a period that are over, and the same of the period before. The running one would be a loss."""

    now: Totals
    before: Totals


@dataclass(frozen=True, slots=True)
class Overview:
    """A period at a glance. ``hours``: one for each, in order, also those without a request.

    ``hours_before``: of the period before; None if it was not asked for. ``comparison``: None then too, and if no hour
    of the period is over.
    """

    period: Period
    totals: Totals
    hours: list[Hour]
    hours_before: list[Hour] | None
    comparison: Comparison | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a table. ``share``: of the requests of the whole table, from 0 to 1.

    ``key``: what ``within`` takes; ``label``: as a person reads it, in the present language.
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
    """Return what happened in the period. One query; three if it is a long one."""
    whole = Period(period.before.start, period.end) if compare else period
    over = min(period.end, hour_of(now))  # where the hour that is running begins
    found = spans(whole, cuts=(period.start, over, over - (period.end - period.start)))
    rows = list(_rows(Dimension.ALL, found))
    own = [row for row in rows if row.hour >= period.start]
    bars = rows
    if any(span.of_days for span in found):
        hourly = _rows(Dimension.ALL, [Span(of_days=False, start=whole.start, end=whole.end)])
        bars = list(hourly.only("hour", "is_bot", "hits", "errors"))
    return Overview(
        period=period,
        totals=_totals(own, bots=bots),
        hours=_hours(bars, period, bots=bots),
        hours_before=_hours(bars, period.before, bots=bots) if compare else None,
        comparison=_comparison(rows, period, over, bots=bots) if compare else None,
    )


def top(dimension: str, period: Period, *, limit: int = 10, bots: bool = False, within: str = "") -> Table:
    """Return the keys of a dimension with the most requests, the busiest first.

    Two queries; one more for addresses, and one more for a long period.

    ``within``: only provinces or cities of this country, only cities of this province; the ``key`` of its entry.
    """
    rows = _counted(dimension, period, bots=bots)
    if within:
        rows = rows.filter(key__startswith=within + keys.SEPARATOR)
    is_country = dimension == Dimension.COUNTRY
    # One more than wanted: what is left over, if it is among them, gets no line.
    groups = _groups(rows, MOST_COUNTRIES if is_country else limit + 1)
    return _table(dimension, rows, groups, limit)


def countries(period: Period) -> list[tuple[str, str]]:
    """Return code and name of each country that somebody came from, those with the most requests first. One query."""
    groups = _groups(_counted(Dimension.COUNTRY, period), MOST_COUNTRIES)
    return [(country, name) for country, name in _named_countries(groups).items() if _is_code(country)]


@dataclass(frozen=True, slots=True)
class _Group:
    """The sums of one key over the period. ``everything``: the hits of all keys together."""

    key: str
    hits: int
    errors: int
    total_ms: float
    longest_ms: float
    everything: int


class _SumOfSums(Func):
    """``SUM(SUM(hits)) OVER ()``, which Django's own Sum refuses: it takes a sum of sums for a mistake."""

    function = "SUM"
    window_compatible = True


def _counted(dimension: str, period: Period, *, bots: bool = True) -> "QuerySet[HourlyStat]":
    rows = _rows(dimension, spans(period))
    return rows if bots else rows.filter(is_bot=False)


def _rows(dimension: str, found: Iterable[Span]) -> "QuerySet[HourlyStat]":
    return HourlyStat.objects.filter(rows_in(dimension, found))


def _groups(rows: "QuerySet[HourlyStat]", most: int) -> list[_Group]:
    sums = (
        rows.annotate(exact_key=Exact("key"))
        .values_list("exact_key")
        .annotate(
            all_hits=Sum("hits"),
            all_errors=Sum("errors"),
            all_ms=Sum("total_ms"),
            longest=Max("longest_ms"),
            everything=Window(_SumOfSums(F("all_hits"), output_field=BigIntegerField())),
        )
    )
    return [
        _Group(key, int(hits), int(errors), total_ms, longest_ms, int(everything))  # some drivers sum up to decimals
        for key, hits, errors, total_ms, longest_ms, everything in sums.order_by("-all_hits", "exact_key")[:most]
    ]


def _table(dimension: str, rows: "QuerySet[HourlyStat]", groups: list[_Group], limit: int) -> Table:
    if not groups:
        return Table(dimension)
    if dimension == Dimension.COUNTRY:
        names = _named_countries(groups)
        spelled: dict[str, list[_Group]] = {}
        for group in groups:
            spelled.setdefault(keys.country_of(group.key), []).append(group)
    else:
        names = {group.key: keys.label(dimension, group.key) for group in groups}
        spelled = {group.key: [group] for group in groups if group.key != keys.REST}
    busiest = sorted(spelled, key=lambda key: (-sum(group.hits for group in spelled[key]), key))[:limit]
    histograms = _histograms(rows, [group.key for key in busiest for group in spelled[key]])
    places = _places(busiest) if dimension == Dimension.IP else {}
    everything = groups[0].everything
    entries = []
    for key in busiest:
        figures = _figures(spelled[key], (each for group in spelled[key] for each in histograms.get(group.key, ())))
        entries.append(Entry(key, names[key], figures.hits / everything, figures, places.get(key, "")))
    return Table(dimension, everything, entries)


def _named_countries(groups: Iterable[_Group]) -> dict[str, str]:
    """Return the names of the countries, in the order of the groups; of several spellings that of most requests."""
    names: dict[str, str] = {}
    for group in groups:
        names.setdefault(keys.country_of(group.key), keys.label(Dimension.COUNTRY, group.key))
    return names


def _is_code(country: str) -> bool:
    return len(country) == 2 and country.isascii() and country.isalpha()


def _histograms(rows: "QuerySet[HourlyStat]", wanted: list[str]) -> dict[str, list[Histogram]]:
    found: dict[str, list[Histogram]] = {}
    for key, histogram in rows.filter(key__in=wanted).values_list("key", "histogram"):
        found.setdefault(key, []).append(histogram)
    return found


def _places(addresses: Iterable[str]) -> dict[str, str]:
    """Return where the addresses are, in words."""
    prefixes = {ip: network_prefix(ip, access_log.PREFIX_V4, access_log.PREFIX_V6) for ip in addresses if ip}
    located = Location.objects.in_bulk(set(prefixes.values()))
    return {ip: located[prefix].text for ip, prefix in prefixes.items() if prefix in located}


def _figures(parts: Iterable[HourlyStat | _Group], histograms: Iterable[Histogram]) -> Figures:
    parts = list(parts)
    longest_ms = max((part.longest_ms for part in parts), default=0.0)
    return Figures(
        hits=sum(part.hits for part in parts),
        errors=sum(part.errors for part in parts),
        total_ms=sum(part.total_ms for part in parts),
        longest_ms=longest_ms,
        p95_ms=percentile(merged(histograms), P95, longest_ms),
    )


def _totals(rows: Sequence[HourlyStat], *, bots: bool) -> Totals:
    shown = [row for row in rows if bots or not row.is_bot]
    return Totals(
        figures=_figures(shown, (row.histogram for row in shown)),
        visitors=sketch.distinct(sketch.united(row.visitors for row in shown if row.visitors)),
        bots=sum(row.hits for row in rows if row.is_bot),
        everything=sum(row.hits for row in rows),
    )


def _hours(rows: Iterable[HourlyStat], period: Period, *, bots: bool) -> list[Hour]:
    hits: Counter[datetime.datetime] = Counter()
    errors: Counter[datetime.datetime] = Counter()
    for row in rows:
        if bots or not row.is_bot:
            hits[row.hour] += row.hits
            errors[row.hour] += row.errors
    return [Hour(start, hits[start], errors[start]) for start in period.hours()]


def _comparison(
    rows: Sequence[HourlyStat], period: Period, over: datetime.datetime, *, bots: bool
) -> Comparison | None:
    if over <= period.start:
        return None
    length = period.end - period.start
    return Comparison(
        now=_totals([row for row in rows if period.start <= row.hour < over], bots=bots),
        before=_totals([row for row in rows if row.hour < over - length], bots=bots),
    )
