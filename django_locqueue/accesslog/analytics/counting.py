"""Counts an hour of the log: a few GROUP BYs over one range of its index of times, added up by key."""

import datetime
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from django.db import transaction
from django.db.models import Case, CharField, F, Max, Q, QuerySet, Sum, Value, When

from django_locqueue.accesslog.analytics import places, sketch, tally
from django_locqueue.accesslog.analytics.days import day_of, forget_day
from django_locqueue.accesslog.analytics.exact import Exact, ExactAddress
from django_locqueue.accesslog.analytics.histogram import ClassOf
from django_locqueue.accesslog.analytics.keys import REST
from django_locqueue.accesslog.analytics.period import HOUR
from django_locqueue.accesslog.analytics.referring import origin, referring_site
from django_locqueue.accesslog.analytics.tally import Tallies
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.models import AccessLog, HourlyStat, StaleHour
from django_locqueue.accesslog.primary import primary
from django_locqueue.accesslog.privacy.policy import TRUNCATE

Dimension = HourlyStat.Dimension

VISITORS_AT_ONCE = 50_000  # of an hour's: more would be memory, fewer more queries

PLACE = ("state", "country_code", "country", "province", "city", "isp", "adcode")


def count(hour: datetime.datetime) -> list[HourlyStat]:
    """Return the counts of the hour as its log is now; nothing is stored."""
    # Not from a replica: the rows that made the hour stale may not be there yet.
    log = primary(AccessLog)
    log = log.filter(time__gte=hour, time__lt=hour + HOUR).order_by()
    counted: dict[Dimension, Tallies] = {dimension: Tallies() for dimension in Dimension}

    for status, *group in _grouped(log, F("status")):
        _add(counted[Dimension.ALL], "", group)
        _add(counted[Dimension.STATUS], str(status // 100), group)
    for *place, is_bot, duration_class, hits, errors, total_ms, longest_ms in _grouped(
        log, *(F(f"location__{column}") for column in PLACE)
    ):
        for dimension, key in places.keys_of(*place):
            counted[dimension][key, is_bot].add(duration_class, hits, errors, total_ms, longest_ms)
    for path, *group in _of_busiest(log, Exact("path")):
        _add(counted[Dimension.PATH], path, group)
    for action, *group in _of_busiest(log, Exact("action")):
        _add(counted[Dimension.ACTION], action, group)
    for site, *group in _of_busiest(log, Exact(origin())):
        _add(counted[Dimension.REFERER], site if site == REST else referring_site(site, ""), group)
    for ip, *group in _of_busiest(log, ExactAddress("ip")):
        _add(counted[Dimension.IP], ip, group)

    rows = [row for dimension, tallies in counted.items() for row in tallies.rows(hour, dimension)]
    for row in rows:
        if row.dimension == Dimension.ALL:
            row.visitors = _visitors(log.filter(is_bot=row.is_bot))
    return rows


def store(hour: datetime.datetime, rows: Iterable[HourlyStat], marks: Collection[int]) -> bool:
    """Replace the hour's counts, and take away the marks that were there before it was counted.

    Return False, with nothing stored, if the hour is closed; or if another worker has taken one of its marks. Those
    that are left then have the hour counted again.
    """
    alias = primary(HourlyStat).db
    stats = HourlyStat.objects.using(alias)
    with transaction.atomic(using=alias):
        # First of all, and all of them: whoever counts the hour at the same time waits here, and finds the first gone.
        taken, _ = StaleHour.objects.using(alias).filter(pk__in=marks).delete()
        if taken < len(marks):
            transaction.set_rollback(True, using=alias)
            return False
        # Each dimension by name: the index begins with it.
        counted = stats.filter(dimension__in=list(Dimension), hour=hour)
        if counted.filter(dimension=Dimension.ALL, closed=True).exists():
            return False
        forget_day(day_of(hour))
        counted.delete()
        stats.bulk_create(rows, batch_size=1000)
    return True


def _grouped(log: "QuerySet[AccessLog]", *columns: Any) -> Iterator[Any]:
    """Give the columns of each group, then ``is_bot``, the class of duration, hits, errors, total and longest ms."""
    names = {f"column_{number}": column for number, column in enumerate(columns)}
    groups = log.annotate(**names, duration_class=ClassOf("duration_ms"))
    return iter(
        groups.values_list(*names, "is_bot", "duration_class").annotate(
            hits=Sum("weight"),
            errors=Sum("weight", filter=Q(status__gte=500), default=0.0),
            total_ms=Sum(F("duration_ms") * F("weight")),
            longest_ms=Max("duration_ms"),
        )
    )


def _of_busiest(log: "QuerySet[AccessLog]", key: Any) -> Iterator[Any]:
    """Give the groups of the keys with the most requests, and those of all others as of one key.

    The database chooses: a crawl of a million addresses would not fit into the memory of a worker.
    """
    log = log.annotate(own_key=key)
    sums = log.values_list("own_key").annotate(all_hits=Sum("weight")).order_by("-all_hits", "own_key")
    busiest = [own_key for own_key, _hits in sums[: tally.MOST_KEYS + 1]]
    if len(busiest) <= tally.MOST_KEYS:
        return _grouped(log, F("own_key"))
    is_busy = When(own_key__in=busiest[: tally.MOST_KEYS], then=F("own_key"))
    return _grouped(log, Exact(Case(is_busy, default=Value(REST), output_field=CharField())))


def _add(tallies: Tallies, key: str, group: Any) -> None:
    is_bot, duration_class, hits, errors, total_ms, longest_ms = group
    tallies[key, is_bot].add(duration_class, hits, errors, total_ms, longest_ms)


def _visitors(log: "QuerySet[AccessLog]") -> bytes:
    """Return the sketch of who was there: of addresses, or where those are only networks, of visitors."""
    column = "visitor" if access_log.IP_STORAGE == TRUNCATE else "ip"
    names = log.exclude(ip=None).order_by(column).values_list(column, flat=True).distinct()
    page = list(names[:VISITORS_AT_ONCE])
    seen = sketch.sketch_of(filter(None, page))
    while len(page) == VISITORS_AT_ONCE:
        page = list(names.filter(**{f"{column}__gt": page[-1]})[:VISITORS_AT_ONCE])
        seen = sketch.united([seen, sketch.sketch_of(page)])
    return seen
