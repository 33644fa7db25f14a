"""The filtered list as a CSV file, sent row by row, with what the person may see and no more."""

import csv
from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest
from django.http import HttpRequest, StreamingHttpResponse

from django_locqueue.accesslog.admin.changelist import NEWEST
from django_locqueue.accesslog.admin.shown import local, masked, may_see_full_ip
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.visible import visible
from django_locqueue.admin import orderings

MOST_ROWS = 50_000  # more is for `manage.py accesslog export`, which holds up no web process
ROWS_AT_ONCE = 1_000
HEADER = (
    "time",
    "ip",
    "country",
    "province",
    "city",
    "isp",
    "user",
    "method",
    "host",
    "path",
    "query",
    "action",
    "status",
    "duration_ms",
    "bytes",
    "bot",
    "user_agent",
    "referrer",
    "request_id",
)
# Begins a formula in Excel, LibreOffice or Google Sheets; a visitor chooses the path, the agent and the referrer.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Echo:
    """What ``csv`` writes to: hands each line on."""

    def write(self, line: str) -> str:
        return line


def csv_response(model_admin: Any, request: HttpRequest) -> StreamingHttpResponse:
    """Return the newest ``MOST_ROWS`` rows of the list that the address asks for. Raises BadRequest for a bad one."""
    try:
        rows = model_admin.get_changelist_instance(request).queryset
    except IncorrectLookupParameters as error:
        raise BadRequest(f"This filter cannot be used: {error}") from error
    return StreamingHttpResponse(
        _lines(rows, full_ip=may_see_full_ip(request)),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="access-log.csv"', "Cache-Control": "no-store"},
    )


def _lines(rows: Any, *, full_ip: bool) -> Iterator[str]:
    writer = csv.writer(Echo())
    yield "\ufeff"  # without it Excel takes the Chinese names for another encoding
    yield str(writer.writerow(HEADER))
    for row in _by_key(rows):
        yield str(writer.writerow(safe(_cells(row, full_ip=full_ip))))


def _by_key(rows: Any) -> Iterator[AccessLog]:
    """Return the rows page by page: a cursor of the database would not survive a pooler in transaction mode."""
    left = MOST_ROWS
    part = rows
    while left > 0:
        found = list(part[: min(ROWS_AT_ONCE, left)])
        yield from found
        left -= len(found)
        if len(found) < ROWS_AT_ONCE:
            return
        last = {name: getattr(found[-1], name) for name in orderings.names(NEWEST)}
        part = rows.filter(orderings.behind(NEWEST, last))


def _cells(row: AccessLog, *, full_ip: bool) -> tuple[Any, ...]:
    place = row.location
    return (
        local(row.time).isoformat(timespec="milliseconds"),
        row.ip if full_ip or row.ip is None else masked(row.ip),
        *((place.country or place.country_code, place.province, place.city, place.isp) if place else ("",) * 4),
        "" if row.user_id is None else str(row.user or f"#{row.user_id}"),
        row.method,
        row.host,
        row.path,
        row.query,
        row.action,
        row.status,
        row.duration_ms,
        row.bytes,
        int(row.is_bot),
        row.user_agent,
        row.referer,
        row.hit_id,
    )


def safe(cells: Iterable[Any]) -> list[Any]:
    """Return the cells with control characters written out, and none of them a formula."""
    return [_harmless(cell) if isinstance(cell, str) else cell for cell in cells]


def _harmless(text: str) -> str:
    return visible(f"'{text}" if text.startswith(FORMULA) else text)
