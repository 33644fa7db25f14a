"""Rows of the log, as record_hits would store them."""

import datetime
from itertools import count as numbers
from typing import Any

from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.prefix import network_prefix

HOUR = datetime.datetime(2026, 11, 30, 14, tzinfo=datetime.UTC)

_ids = numbers()


def logged(minute: float = 0, *, hour: datetime.datetime = HOUR, **fields: Any) -> AccessLog:
    """Return an unsaved row of that minute."""
    ip = fields.get("ip", "49.65.250.135")
    values: dict[str, Any] = {
        "hit_id": f"{next(_ids):032x}",
        "time": hour + datetime.timedelta(minutes=minute),
        "ip": ip,
        "location_id": ip and network_prefix(ip, 24, 48),
        "method": "GET",
        "path": "/",
        "status": 200,
        "duration_ms": 10.0,
    }
    return AccessLog(**{**values, **fields})


def log(*rows: AccessLog) -> None:
    AccessLog.objects.bulk_create(rows)


def located(prefix: str = "49.65.250.0/24", **fields: Any) -> Location:
    values: dict[str, Any] = {"state": "located", "country_code": "CN", "country": "中国", "province": "江苏"}
    return Location.objects.create(prefix=prefix, **{**values, **fields})
