"""Counts an hour of the log: a few GROUP BYs over one range of its index of times, added up by key."""

import datetime
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import router, transaction
from django.db.models import F, Max, Q, QuerySet, Sum

from django_locqueue.accesslog.analytics import places, sketch
from django_locqueue.accesslog.analytics.exact import Exact
from django_locqueue.accesslog.analytics.histogram import ClassOf
from django_locqueue.accesslog.analytics.keys import UNKNOWN
from django_locqueue.accesslog.analytics.period import HOUR
from django_locqueue.accesslog.analytics.referring import referring_site
from django_locqueue.accesslog.analytics.tally import Tallies
from django_locqueue.accesslog.models import AccessLog, HourlyStat, StaleHour

Dimension = HourlyStat.Dimension

PLACE = ("state", "country_code", "country", "province", "city", "isp", "adcode")


def count(hour: datetime.datetime) -> list[HourlyStat]:
    """Return the counts of the hour as its log is now; nothing is stored."""
    # Not from a replica: the rows that made the hour stale may not be there yet.
    log = AccessLog.objects.using(router.db_for_write(AccessLog))
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
    for path, *group in _grouped(log, Exact("path")):
        _add(counted[Dimension.PATH], path, group)
    for action, *group in _grouped(log, Exact("action")):
        _add(counted[Dimension.ACTION], action, group)
    for referer, host, *group in _grouped(log, Exact("referer"), F("host")):
        _add(counted[Dimension.REFERER], referring_site(referer, host), group)
    for ip, *group in _grouped(log, F("ip")):
        _add(counted[Dimension.IP], ip or UNKNOWN, group)

    rows = [row for dimension, tallies in counted.items() for row in tallies.rows(hour, dimension)]
    visitors = _visitors(log, counted[Dimension.IP])
    for row in rows:
        if row.dimension == Dimension.ALL:
            row.visitors = sketch.sketch_of(visitors[row.is_bot])
    return rows


def store(hour: datetime.datetime, rows: Iterable[HourlyStat], marks: Iterable[int]) -> bool:
    """Replace the hour's counts, and take away the marks that were there before it was counted.

    Return False, with nothing changed, if another worker has taken them away, which counted it later then; or if the
    hour is closed.
    """
    alias = router.db_for_write(HourlyStat)
    stats = HourlyStat.objects.using(alias)
    with transaction.atomic(using=alias):
        taken, _ = StaleHour.objects.using(alias).filter(pk__in=list(marks)).delete()
        # Each dimension by name: the index begins with it.
        counted = stats.filter(dimension__in=list(Dimension), hour=hour)
        if not taken or counted.filter(dimension=Dimension.ALL, closed=True).exists():
            return False
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


def _add(tallies: Tallies, key: str, group: Any) -> None:
    is_bot, duration_class, hits, errors, total_ms, longest_ms = group
    tallies[key, is_bot].add(duration_class, hits, errors, total_ms, longest_ms)


def _visitors(log: "QuerySet[AccessLog]", addresses: Tallies) -> dict[bool, set[str]]:
    """Return who was there: addresses, and of requests that were stored without one what stands for the visitor."""
    found: dict[bool, set[str]] = {False: set(), True: set()}
    for ip, is_bot in addresses:
        if ip != UNKNOWN:
            found[is_bot].add(ip)
    if any(ip == UNKNOWN for ip, _is_bot in addresses):
        nameless = log.filter(ip=None).exclude(visitor="").values_list("visitor", "is_bot").distinct()
        for visitor, is_bot in nameless:
            found[is_bot].add(visitor)
    return found
