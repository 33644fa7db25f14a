"""A list of tasks for other programs: as a CSV file, and as JSON page by page. Masked as the page is."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.core.exceptions import BadRequest
from django.http import HttpRequest, JsonResponse, StreamingHttpResponse

from django_locqueue.admin.columns import LINE_LENGTH
from django_locqueue.admin.payloads import arguments_line
from django_locqueue.models import orderings
from django_locqueue.models.task import worker_names
from django_locqueue.observability.task_json import task_json

MOST_ROWS = 50_000
PAGE = 2_000  # rows in a query
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
    """Return the first ``MOST_ROWS`` rows of the list that the address asks for. Raises BadRequest for a bad one."""
    changelist = _changelist(model_admin, request)
    return StreamingHttpResponse(
        _csv_lines(changelist.queryset, changelist.selection.ordering),
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


def _csv_lines(rows: Any, ordering: tuple[str, ...]) -> Iterator[str]:
    """Yield a line of names, and one a row. Control characters are written out: no row is two lines of the file."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, FIELDS)
    text.write(BYTE_ORDER_MARK)
    writer.writeheader()
    for page in _pages(rows, ordering):
        writer.writerows({name: _cell(value) for name, value in record_of(task).items()} for task in page)
        yield text.getvalue()
        text.seek(0)
        text.truncate()
    yield text.getvalue()


def _pages(rows: Any, ordering: tuple[str, ...]) -> Iterator[list[Any]]:
    """Give the rows page by page: a cursor of the database would not survive a pooler in transaction mode."""
    left, part = MOST_ROWS, rows
    while left > 0:
        found = list(part[: min(PAGE, left)])
        yield found
        left -= len(found)
        if len(found) < PAGE:
            return
        last = {name: getattr(found[-1], name) for name in orderings.names(ordering)}
        part = rows.filter(orderings.behind(ordering, last))


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value
