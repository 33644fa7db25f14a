"""Counts what has changed, once a minute."""

import datetime
from typing import Any

from django.utils import timezone

from django_locqueue import Unique, schedule, task
from django_locqueue.accesslog.analytics.counting import count, store
from django_locqueue.accesslog.analytics.days import add_up, days_to_add_up
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.models import StaleHour
from django_locqueue.accesslog.primary import primary

COUNT_PRIORITY = -30  # below what it counts

# Looked for anew after so many: else the hour that runs waits until all the years of an import are counted.
HOURS_AT_ONCE = 100
MOST_MARKS = 10_000
DAYS_AT_ONCE = 40  # half a minute's work


@schedule(every=60, missed="skip")
@task(
    queue_name=access_log.QUEUE_NAME,
    priority=COUNT_PRIORITY,
    unique=Unique("locqueue-accesslog-count-hours", until="finished"),
    keep_result=False,
    takes_context=True,
)
def count_hours(context: Any) -> int:
    """Count the hours that something was added to or changed in; return how many. If there are none: one query."""
    return count_stale_hours(context)


@schedule(every=3600, missed="skip")
@task(
    queue_name=access_log.QUEUE_NAME,
    priority=COUNT_PRIORITY,
    unique=Unique("locqueue-accesslog-add-up-days", until="finished"),
    keep_result=False,
    takes_context=True,
)
def add_up_days(context: Any) -> None:
    """Add up the days that are over, the latest first, some at once: the pages read them instead of their hours."""
    for day in days_to_add_up(timezone.now())[:DAYS_AT_ONCE]:
        if context.should_stop:
            return
        add_up(day)


def count_stale_hours(context: Any = None) -> int:
    """Count all stale hours, the latest first; return how many. Stops between two if the worker is to stop."""
    counted = 0
    while True:
        stale = sorted(_stale_hours().items(), reverse=True)
        for hour, marks in stale[:HOURS_AT_ONCE]:
            if context is not None and context.should_stop:
                return counted  # the marks are still there
            counted += store(hour, count(hour), marks)
        if len(stale) <= HOURS_AT_ONCE:
            return counted


def _stale_hours() -> dict[datetime.datetime, list[int]]:
    marks = primary(StaleHour)
    found: dict[datetime.datetime, list[int]] = {}
    for pk, hour in marks.order_by("-hour", "pk").values_list("pk", "hour")[:MOST_MARKS]:
        found.setdefault(hour, []).append(pk)
    return found
