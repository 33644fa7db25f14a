"""A list of tasks for other programs: as a CSV file, and as JSON page by page. Masked as the page is."""

import csv
import io
from collections.abc import Iterator
from functools import partial
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse
from django.utils.translation import gettext

from django_locqueue import conf
from django_locqueue.admin.columns import LINE_LENGTH
from django_locqueue.admin.filters import SEARCH
from django_locqueue.admin.payloads import arguments_line
from django_locqueue.models import orderings
from django_locqueue.models.task import worker_names
from django_locqueue.observability.task_json import task_json
from django_locqueue.statement_limit import TooSlow, statement_limit
from django_locqueue.store.bulk import LOOK, first_of
from django_locqueue.store.selection import Selection

MOST_ROWS = 50_000
PAGE = 2_000  # rows in a query
MOST_LOOKS = 100  # of LOOK rows each, for those that match
BYTE_ORDER_MARK = "\ufeff"  # without it Excel takes Chinese names for another encoding
FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # a cell that begins so is a formula to a spreadsheet, whoever wrote it

# Those of the worker's JSON lines have their names.
FIELDS = (
    *("id", "task", "args", "state", "queue", "priority", "attempt", "max", "worker"),
    *("added", "due", "started", "finished", "wait_s", "run_s", "error", "message", "retried_by"),
)


def record_of(task: Any) -> dict[str, Any]:
    """Return what a page shows of a task, as values of JSON by the names in ``FIELDS``."""
    arguments = arguments_line(task.arguments_start, cut=len(task.arguments_start) == LINE_LENGTH)
    return {**task_json(task, worker_names(task.worker_ids_end)), "args": arguments}


def csv_response(model_admin: Any, request: HttpRequest) -> StreamingHttpResponse:
    """Return the first ``MOST_ROWS`` tasks of those that the address asks for. Raises BadRequest for a bad one.

    Not only of the page's window: a file goes on through many of them, and says where that was not all.
    """
    changelist = _changelist(model_admin, request)
    rows, _ = model_admin.get_search_results(request, changelist.listed, request.GET.get(SEARCH, ""))
    return StreamingHttpResponse(
        # In the language of the request, which is over when the file is read.
        _csv_lines(rows, changelist.selection, gettext("There are more: narrow the list to have the rest of them.")),
        content_type="text/csv; charset=utf-8",
        headers={
            "Content-Disposition": f'attachment; filename="tasks-{changelist.tab.name}.csv"',
            "Cache-Control": "no-store",
        },
    )


def json_response(model_admin: Any, request: HttpRequest) -> JsonResponse:
    """Return ``{"tasks": [...], "next": address or None}``: the page of the list that the address asks for."""
    changelist = _changelist(model_admin, request)
    further = changelist.further_url
    if not changelist.is_last_page:
        further = changelist.get_query_string({"p": changelist.page_num + 1})
    found = {"tasks": [record_of(task) for task in changelist.result_list], "next": further}
    return JsonResponse(found, headers={"Cache-Control": "no-store"}, json_dumps_params={"ensure_ascii": False})


def _changelist(model_admin: Any, request: HttpRequest) -> Any:
    try:
        return model_admin.get_changelist_instance(request)
    except IncorrectLookupParameters as error:
        raise BadRequest(f"This filter cannot be used: {error}") from error


def _csv_lines(rows: Any, selection: Selection, more: str) -> Iterator[str]:
    """Yield a line of names, and one a row; ``more`` is the last if that is not all.

    Control characters are written out: no row is two lines of the file.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, FIELDS)
    text.write(BYTE_ORDER_MARK)
    writer.writeheader()
    for page in _pages(rows, selection, {"id": more}):
        writer.writerows({name: _cell(value) for name, value in record.items()} for record in page)
        yield text.getvalue()
        text.seek(0)
        text.truncate()


def _pages(rows: Any, selection: Selection, more: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    """Give the records page by page: a cursor of the database would not survive a pooler in transaction mode.

    ``rows``: what the list's index holds. ``more``: the last record where that is too much.
    """
    ordering, part, left = selection.ordering, rows, MOST_ROWS
    limited = partial(statement_limit, rows.db, conf.admin.STATEMENT_SECONDS)
    try:
        for _ in range(MOST_LOOKS):
            with limited():
                look, end = first_of(part, selection, LOOK)
            here = matching = selection.matching(look).order_by(*ordering)
            while True:
                with limited():
                    found = list(here[: min(PAGE, left + 1)])
                yield [record_of(task) for task in found[:left]]
                if len(found) > left:
                    yield [more]
                    return
                left -= len(found)
                if len(found) < PAGE:
                    break
                last = {name: getattr(found[-1], name) for name in orderings.names(ordering)}
                here = matching.filter(orderings.behind(ordering, last))
            if end is None:
                return
            part = rows.filter(orderings.behind(ordering, end))
        yield [more]
    except TooSlow:
        yield [more]


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value
