"""Says which hours are to be counted again. Called in the transaction that changed them."""

import datetime
from collections.abc import Iterable

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import TruncHour

from django_locqueue.accesslog.analytics.period import HOUR, hour_of
from django_locqueue.accesslog.models import AccessLog, HourlyStat, StaleHour
from django_locqueue.accesslog.primary import primary

Dimension = HourlyStat.Dimension


def mark_stale(moments: Iterable[datetime.datetime]) -> None:
    """Have the hours of these moments counted again. One statement, however many moments of an hour there are."""
    hours = sorted({hour_of(moment) for moment in moments})
    primary(StaleHour).bulk_create([StaleHour(hour=hour) for hour in hours])


def mark_visits_from(prefixes: Iterable[str]) -> None:
    """Have the hours counted again in which somebody came from these networks, whose place is another now."""
    log = primary(AccessLog).filter(location__in=list(prefixes))
    zone = datetime.UTC if settings.USE_TZ else None
    mark_stale(log.order_by().annotate(hour=TruncHour("time", tzinfo=zone)).values_list("hour", flat=True).distinct())


def close_hours(before: datetime.datetime) -> None:
    """Make the counts of the hours that began before this moment final, since their log is about to be pruned.

    Not of those that are to be counted again: ``countable`` says which rows have to stay for that.
    """
    stats = primary(HourlyStat)
    is_marked = Exists(StaleHour.objects.filter(hour=OuterRef("hour")))
    stats.filter(~is_marked, dimension=Dimension.ALL, hour__lt=before, closed=False).update(closed=True)


def countable() -> Q:
    """Return which rows of the log belong to hours that are to be counted, or may be: they are marked, or not closed.

    A count that lacked some of its rows would stay for good. An hour that was neither counted nor marked never will be.
    """
    of_the_row = Q(hour__lte=OuterRef("time"), hour__gt=OuterRef("time") - HOUR)
    is_open = Q(dimension=Dimension.ALL, closed=False)
    return Q(Exists(StaleHour.objects.filter(of_the_row))) | Q(Exists(HourlyStat.objects.filter(of_the_row, is_open)))
