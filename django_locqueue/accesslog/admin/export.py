"""The filtered list as a CSV file, sent page by page, with what the person may see and no more."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest
from django.http import HttpRequest, StreamingHttpResponse

from django_locqueue.accesslog.admin.changelist import NEWEST
from django_locqueue.accesslog.admin.shown import masked, may_see_full_ip
from django_locqueue.accesslog.files import exporting
from django_locqueue.admin.task_files import BYTE_ORDER_MARK
from django_locqueue.models import orderings

MOST_ROWS = 50_000  # more is for `manage.py accesslog export`, which holds up no web process


def csv_response(model_admin: Any, request: HttpRequest) -> StreamingHttpResponse:
    """Return the newest ``MOST_ROWS`` rows of the list that the address asks for. Raises BadRequest for a bad one."""
    try:
        rows = model_admin.get_changelist_instance(request).queryset
    except IncorrectLookupParameters as error:
        raise BadRequest(f"This filter cannot be used: {error}") from error
    rows = rows.prefetch_related(None)  # the list's; what is written is read by the page
    lines = exporting.to_csv(_pages(rows), str if may_see_full_ip(request) else masked)
    return StreamingHttpResponse(
        chain((BYTE_ORDER_MARK,), lines),
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="access-log.csv"', "Cache-Control": "no-store"},
    )


def _pages(rows: Any) -> Iterator[exporting.Page]:
    """Give the rows page by page: a cursor of the database would not survive a pooler in transaction mode."""
    left = MOST_ROWS
    part = rows
    while left > 0:
        found = list(part[: min(exporting.PAGE, left)])
        yield found
        left -= len(found)
        if len(found) < exporting.PAGE:
            return
        last = {name: getattr(found[-1], name) for name in orderings.names(NEWEST)}
        part = rows.filter(orderings.behind(NEWEST, last))
