"""Days that are over, added up: a month of hours is a million rows of counts, of days thirty thousand.

A day's rows stand among those of its hours, under dimensions of their own, and are of the day's first hour. They are
gone as soon as one of its hours is counted anew, and made again within the hour. Whoever reads takes the days that are
there, and hours for the rest: the numbers are the same.
"""

import datetime
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from django.db import transaction
from django.db.models import Q, QuerySet

from django_locqueue.accesslog.analytics import sketch
from django_locqueue.accesslog.analytics.period import Period, hour_of
from django_locqueue.accesslog.analytics.tally import Tallies, Tally
from django_locqueue.accesslog.models import HourlyStat
from django_locqueue.accesslog.primary import primary

Dimension = HourlyStat.Dimension

DAY = datetime.timedelta(days=1)
LONG = 3 * DAY  # below, the hours are few enough
DIMENSION_LENGTH = 8  # the width of the column


def of_days(dimension: str) -> str:
    """Return the dimension of the rows that are sums of a day: ``+path``."""
    return f"+{dimension}"[:DIMENSION_LENGTH]


ALL_OF_DAYS = [of_days(dimension) for dimension in Dimension]


def day_of(hour: datetime.datetime) -> datetime.datetime:
    """Return the first hour of the day, which is one of UTC (with ``USE_TZ`` off: as the rows have it)."""
    return hour.replace(hour=0)


class Span(NamedTuple):
    """Days or hours that follow each other. ``start`` belongs to it, ``end`` does not."""

    of_days: bool
    start: datetime.datetime
    end: datetime.datetime


def spans(period: Period, cuts: Iterable[datetime.datetime] = ()) -> list[Span]:
    """Return of what the period is to be added up, in order. One query, of a long one.

    ``cuts``: moments at which sums are to be told apart; a day goes over none of them.
    """
    if period.end - period.start < LONG:
        return [Span(of_days=False, start=period.start, end=period.end)]
    there = HourlyStat.objects.filter(
        dimension=of_days(Dimension.ALL), hour__gte=period.start, hour__lte=period.end - DAY
    )
    found: list[Span] = []
    done = period.start
    for day in sorted(set(there.values_list("hour", flat=True))):
        if any(day < cut < day + DAY for cut in cuts):
            continue
        if day > done:
            found.append(Span(of_days=False, start=done, end=day))
        if found and found[-1].of_days:
            found[-1] = found[-1]._replace(end=day + DAY)
        else:
            found.append(Span(of_days=True, start=day, end=day + DAY))
        done = day + DAY
    if done < period.end:
        found.append(Span(of_days=False, start=done, end=period.end))
    return found


def rows_in(dimension: str, found: Iterable[Span]) -> Q:
    """Return the condition for the rows of a dimension that make up the spans."""
    condition = Q()
    for span in found:
        name = of_days(dimension) if span.of_days else dimension
        condition |= Q(dimension=name, hour__gte=span.start, hour__lt=span.end)
    return condition


def days_to_add_up(now: datetime.datetime) -> list[datetime.datetime]:
    """Return the days that are over and counted, and whose hours nobody has added up; the latest first."""
    hours = primary(HourlyStat).filter(dimension=Dimension.ALL, hour__lt=day_of(hour_of(now)))
    counted = {day_of(hour) for hour in hours.values_list("hour", flat=True).distinct()}
    done = primary(HourlyStat).filter(dimension=of_days(Dimension.ALL)).values_list("hour", flat=True)
    return sorted(counted.difference(done), reverse=True)


def add_up(day: datetime.datetime) -> bool:
    """Store the sums of a day; return False, with nothing stored, if one of its hours was counted anew meanwhile."""
    # A count replaces the hour's rows: their keys tell whether it is the same.
    before = list(_hours(day))
    rows = [row for dimension in Dimension for row in _sums(day, dimension)]
    with transaction.atomic(using=primary(HourlyStat).db):
        if forget_day(day) != before:
            return False
        primary(HourlyStat).bulk_create(rows, batch_size=1000)
    return True


def forget_day(day: datetime.datetime) -> list[int]:
    """Take away the sums of a day; return the keys of its hours' counts.

    First all of these are locked: of who adds the day up and who counts an hour of it, be it the first time, one waits
    for the other and sees what that has stored.
    """
    list(_hours(day).select_for_update())
    primary(HourlyStat).filter(dimension__in=ALL_OF_DAYS, hour=day).delete()
    return list(_hours(day))  # now: a lock that was waited for may show less


def _hours(day: datetime.datetime) -> "QuerySet[HourlyStat, int]":
    hours = primary(HourlyStat).filter(dimension=Dimension.ALL, hour__gte=day, hour__lt=day + DAY)
    return hours.order_by("pk").values_list("pk", flat=True)


def _sums(day: datetime.datetime, dimension: str) -> Iterator[HourlyStat]:
    hours = primary(HourlyStat).filter(dimension=dimension, hour__gte=day, hour__lt=day + DAY)
    tallies = Tallies()
    columns = ("key", "is_bot", "hits", "errors", "total_ms", "longest_ms", "histogram")
    # Hour by hour, and not as objects: a day has a hundred thousand. No cursor either, which poolers break.
    for hour in Period(day, day + DAY).hours():
        for key, is_bot, hits, errors, total_ms, longest_ms, histogram in hours.filter(hour=hour).values_list(*columns):
            by_class = {int(number): float(count) for number, count in histogram.items()}
            tallies[key, is_bot].merge(Tally(hits, errors, total_ms, longest_ms, by_class))
    for total in tallies.rows(day, of_days(dimension)):
        if dimension == Dimension.ALL:
            of_hours = hours.filter(is_bot=total.is_bot).values_list("visitors", flat=True)
            total.visitors = sketch.united(seen for seen in of_hours if seen)
        yield total
