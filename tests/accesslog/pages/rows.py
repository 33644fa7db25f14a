"""Rows that the page tests look at, and how they look."""

import datetime
from collections.abc import Iterable
from typing import Any

from django.test import Client
from django.utils import timezone

from django_locqueue.accesslog.analytics.counting import count
from django_locqueue.accesslog.analytics.period import hour_of
from django_locqueue.accesslog.models import AccessLog, HourlyStat, Location

LIST = "/admin/locqueue_accesslog/accesslog/"
ANALYTICS = f"{LIST}analytics/"
EXPORT = f"{LIST}export/"


def unsaved(number: int, **fields: Any) -> AccessLog:
    values: dict[str, Any] = {
        "hit_id": f"{number:032x}",
        "time": timezone.now(),
        "ip": "49.65.250.135",
        "location_id": "49.65.250.0/24",
        "method": "GET",
        "path": f"/path-{number}/",
        "status": 200,
        "duration_ms": 42,
    }
    return AccessLog(**{**values, **fields})


def entry(**fields: Any) -> AccessLog:
    """Store a request and return its row."""
    row = unsaved(AccessLog.objects.count(), **fields)
    row.save()
    return row


def located(prefix: str, **fields: Any) -> Location:
    return Location.objects.create(prefix=prefix, state="located", **fields)


def count_all() -> None:
    """Count every hour of the log, as the worker does."""
    HourlyStat.objects.all().delete()
    hours: Iterable[datetime.datetime] = {hour_of(time) for time in AccessLog.objects.values_list("time", flat=True)}
    for hour in hours:
        HourlyStat.objects.bulk_create(count(hour))


def shown(client: Client, query: str = "") -> list[str]:
    """Return the paths of the rows that the list shows."""
    response = client.get(f"{LIST}{query}")
    assert response.status_code == 200
    return [row.path for row in response.context["cl"].result_list]


def html_of(client: Client, url: str, **headers: str) -> str:
    response = client.get(url, headers=headers)
    assert response.status_code == 200, url
    return response.content.decode()


def minutes_ago(number: float) -> datetime.datetime:
    return timezone.now() - datetime.timedelta(minutes=number)


def ticked(rows: Iterable[Any], **more: Any) -> dict[str, Any]:
    """Return what the list posts to delete the rows."""
    return {"action": "delete_selected", "_selected_action": [row.pk for row in rows], **more}
