"""The access log as text for other tools, in the order of time."""

import csv
import datetime
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from django_locqueue.accesslog.files import combined
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.prefix import shortened
from django_locqueue.accesslog.visible import visible

PAGE = 2_000  # rows in a query

PLACE = ("country_code", "country", "province", "city", "district", "isp")
REQUEST = ("method", "host", "path", "query", "action", "route", "status", "duration_ms", "bytes")
CLIENT = ("is_bot", "user_agent", "referer", "visitor")
FIELDS = ("time", "ip", *PLACE, "user", *REQUEST, *CLIENT, "streaming", "weight", "request_id")

# A cell that begins so is a formula to a spreadsheet, though a visitor wrote it.
FORMULAS = ("=", "+", "-", "@", "\t", "\r")

Page = list[AccessLog]
Address = Callable[[str], str]  # as much of an address as may be seen


def export(logs: "QuerySet[AccessLog]", form: str, *, full_ip: bool) -> Iterator[str]:
    """Yield the rows as text in one of ``FORMATS``, some thousand at a time.

    Without ``full_ip`` an address is ``shortened``.
    """
    return FORMATS[form](walk(logs), str if full_ip else shortened)


def walk(logs: "QuerySet[AccessLog]") -> Iterator[Page]:
    """Yield all rows by time. Each page is found in the index of times, where the one before has ended."""
    page = logs = logs.order_by("time", "pk")
    while rows := list(page[:PAGE]):
        yield rows
        last = rows[-1]
        page = logs.filter(time__gte=last.time).exclude(time=last.time, pk__lte=last.pk)


def to_combined(pages: Iterator[Page], address: Address) -> Iterator[str]:
    """Yield lines in Apache's "combined" format, which has no column for the duration and for what is not in HTTP."""
    for page in pages:
        yield "".join(f"{combined.written(row, row.ip and address(row.ip))}\n" for row in page)


def to_jsonl(pages: Iterator[Page], address: Address) -> Iterator[str]:
    """Yield a JSON object a line, with the keys of ``FIELDS``."""
    for page in pages:
        records = _records(page, address)
        yield "".join(f"{json.dumps(record, ensure_ascii=False, default=str)}\n" for record in records)


def to_csv(pages: Iterator[Page], address: Address) -> Iterator[str]:
    """Yield a line of names, and one a row. What a spreadsheet would take for a formula has an apostrophe in front.

    Control characters are written out: no line of the log is two of the file.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, FIELDS)
    writer.writeheader()
    for page in pages:
        writer.writerows({name: _cell(value) for name, value in record.items()} for record in _records(page, address))
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


FORMATS: dict[str, Callable[[Iterator[Page], Address], Iterator[str]]] = {
    "combined": to_combined,
    "csv": to_csv,
    "jsonl": to_jsonl,
}


def _records(page: Page, address: Address) -> Iterator[dict[str, Any]]:
    # By key and not by a join, for which the database might rather read the whole table of locations.
    locations = Location.objects.in_bulk({row.prefix for row in page if row.prefix})
    nowhere = Location()
    for row in page:
        place = locations.get(row.prefix or "", nowhere)
        yield {
            "time": _iso(row.time),
            "ip": row.ip and address(row.ip),
            **{name: getattr(place, name) for name in PLACE},
            "user": row.user_id,
            **{name: getattr(row, name) for name in (*REQUEST, *CLIENT, "streaming", "weight")},
            "request_id": row.hit_id,
        }


def _iso(time: datetime.datetime) -> str:
    return (time.astimezone(datetime.UTC) if timezone.is_aware(time) else time).isoformat()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return visible(f"'{value}" if value.startswith(FORMULAS) else value)
