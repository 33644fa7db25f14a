"""Says which hours are to be counted again. Called in the transaction that changed them."""

import datetime
from collections.abc import Iterable

from django.conf import settings
from django.db import router
from django.db.models.functions import TruncHour

from django_locqueue.accesslog.analytics.period import hour_of
from django_locqueue.accesslog.models import AccessLog, HourlyStat, StaleHour

Dimension = HourlyStat.Dimension


def mark_stale(moments: Iterable[datetime.datetime]) -> None:
    """Have the hours of these moments counted again. One statement, however many moments of an hour there are."""
    hours = sorted({hour_of(moment) for moment in moments})
    StaleHour.objects.using(router.db_for_write(StaleHour)).bulk_create([StaleHour(hour=hour) for hour in hours])


def mark_visits_from(prefixes: Iterable[str]) -> None:
    """Have the hours counted again in which somebody came from these networks, whose place is another now."""
    log = AccessLog.objects.using(router.db_for_write(AccessLog)).filter(location__in=list(prefixes))
    zone = datetime.UTC if settings.USE_TZ else None
    mark_stale(log.order_by().annotate(hour=TruncHour("time", tzinfo=zone)).values_list("hour", flat=True).distinct())


def close_hours(before: datetime.datetime) -> None:
    """Make the counts of the hours that began before this moment final, since their log is about to be pruned."""
    stats = HourlyStat.objects.using(router.db_for_write(HourlyStat))
    stats.filter(dimension=Dimension.ALL, hour__lt=before, closed=False).update(closed=True)
