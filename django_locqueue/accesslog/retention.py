"""How long the log is kept, and its counts."""

import datetime
from collections.abc import Callable
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from django_locqueue.accesslog.analytics.days import of_days
from django_locqueue.accesslog.analytics.stale import close_hours, countable
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.models import AccessLog, HourlyStat, Location, Loss
from django_locqueue.accesslog.primary import primary
from django_locqueue.accesslog.privacy.visitor_keys import day_of, delete_old_keys

BATCH = 5000  # rows; a statement of milliseconds, so that nobody waits for its locks


def kept_since(days: int | None, now: datetime.datetime) -> datetime.datetime | None:
    """Return the beginning of the first hour that is kept; None for ever.

    An hour is kept as a whole: counts are made of whole ones.
    """
    if days is None:
        return None
    return (now - datetime.timedelta(days=days)).replace(minute=0, second=0, microsecond=0)


def prune(now: datetime.datetime | None = None, should_stop: Callable[[], bool] = lambda: False) -> dict[str, int]:
    """Delete what has been kept long enough; return how many ``requests``, ``networks``, ``counts`` and ``keys``.

    ``should_stop`` is asked between batches. What is deleted stays so, and the next call goes on.
    """
    now = now or timezone.now()
    deleted = {"requests": 0, "networks": 0, "counts": 0, "keys": delete_old_keys(day_of(now.timestamp()))}
    kept = kept_since(access_log.RETENTION_DAYS, now)
    if kept is not None:
        close_hours(kept)  # what is counted again from now on would lack what is gone
        deleted["requests"] = _delete(primary(AccessLog).filter(~countable(), time__lt=kept), "time", should_stop)
        deleted["networks"] = _delete_unvisited(kept, should_stop)
    kept = kept_since(access_log.ROLLUP_RETENTION_DAYS, now)
    if kept is not None:
        deleted["counts"] += _delete(primary(Loss).filter(time__lt=kept), "time", should_stop)
    for dimension in HourlyStat.Dimension:
        # Whose address it is does not depend on the table that it is in.
        days = access_log.RETENTION_DAYS if dimension == HourlyStat.Dimension.IP else access_log.ROLLUP_RETENTION_DAYS
        kept = kept_since(days, now)
        if kept is not None:
            for stored in (dimension, of_days(dimension)):
                old = primary(HourlyStat).filter(dimension=stored, hour__lt=kept)
                deleted["counts"] += _delete(old, "hour", should_stop)
    return deleted


def _delete(old: "QuerySet[Any]", moment: str, should_stop: Callable[[], bool]) -> int:
    """Delete the rows, the oldest first. ``moment``: the column that says how old they are, and has an index."""
    deleted = 0
    rows = old
    while not should_stop():
        found = list(rows.order_by(moment).values_list("pk", moment)[:BATCH])
        if not found:
            break
        deleted += old.model._base_manager.using(old.db).filter(pk__in=[pk for pk, _ in found]).delete()[0]
        # Not from the beginning again: PostgreSQL would read past what was just deleted.
        rows = old.filter(**{f"{moment}__gte": found[-1][1]})
    return deleted


def _delete_unvisited(kept: datetime.datetime, should_stop: Callable[[], bool]) -> int:
    """Delete the networks that no request of the log comes from, unless they were asked for since ``kept``.

    With a long PREFIX_V4 or PREFIX_V6 their keys are as personal as addresses.
    """
    deleted = 0
    visits = primary(AccessLog).filter(location=OuterRef("pk"))
    found = [""]
    while not should_stop():
        found = list(primary(Location).filter(pk__gt=found[-1]).order_by("pk").values_list("pk", flat=True)[:BATCH])
        if not found:
            break
        old = primary(Location).filter(pk__in=found, requested_at__lt=kept)
        deleted += old.filter(~Exists(visits)).delete()[0]
    return deleted
