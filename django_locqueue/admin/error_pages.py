"""Failed tasks by kind of error, and by task: what broke, how often, since when, and everything of one kind at once."""

from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

from django.core.paginator import InvalidPage
from django.http import HttpResponseRedirect
from django.utils.formats import number_format
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from django_locqueue import conf
from django_locqueue.admin import moments
from django_locqueue.admin.badges import badge
from django_locqueue.admin.bulk_links import bulk_url
from django_locqueue.admin.columns import error_line, task_name
from django_locqueue.admin.paginator import CappedPaginator
from django_locqueue.models import ErrorGroup
from django_locqueue.observability.history import Failures, failures
from django_locqueue.observability.stats import capped_counts, capped_text
from django_locqueue.policies import legible
from django_locqueue.statement_limit import TooSlow, statement_limit
from django_locqueue.store import get_store
from django_locqueue.store.selection import Selection

GROUPS_PER_PAGE = 25
MOST_COUNTED = 100  # open tasks of one kind
MOST_READ = 10_000  # failed tasks that are grouped by task


class ErrorRow(NamedTuple):
    """One line of the page. ``buttons``: label and address."""

    error: Any
    mark: Any
    place: str
    tasks: str
    counts: list[str]  # of the last hour, day and week
    first_seen: Any
    last_seen: Any
    affects: str
    url: str
    buttons: list[tuple[str, str]]


def by_error_view(model_admin: Any, request: Any) -> Any:
    # Those that were met last are read from the index of that time.
    paginator = CappedPaginator(ErrorGroup.objects.order_by("-last_seen"), GROUPS_PER_PAGE)
    try:
        page = paginator.page(request.GET.get("p", 1))
    except InvalidPage:
        return HttpResponseRedirect(request.path)
    return _response(
        model_admin,
        request,
        "errors",
        title=_("Failed tasks by error"),
        count=paginator.count_text,
        rows=rows_of(model_admin, request, list(page.object_list)),
        page=page,
    )


def by_task_view(model_admin: Any, request: Any) -> Any:
    # Rows and not values: among these Django would sort by the time as it is read, and so by no index.
    found = Selection("failed").rows().only("task_path", "finished_at")[: MOST_READ + 1]
    counts: Counter[str] = Counter()
    last: dict[str, Any] = {}
    with suppress(TooSlow), statement_limit(found.db, conf.admin.STATEMENT_SECONDS):
        for task in found:  # the latest first
            counts[task.task_path] += 1
            last.setdefault(task.task_path, task.finished_at)
    rows = [
        {
            "task": task_name(path),
            "path": legible.line(path),
            "tasks": number_format(count, force_grouping=True),
            "last_failed": moments.time_tag(last[path]),
            "url": _list_url(model_admin, task=path),
            "buttons": _buttons(model_admin, request, number_format(count, force_grouping=True), task=path),
        }
        for path, count in counts.most_common()
    ]
    is_cut = counts.total() > MOST_READ
    count = f"{number_format(len(rows), force_grouping=True)}{'+' if is_cut else ''}"
    title = _("Failed tasks by task")
    return _response(model_admin, request, "tasks", title=title, count=count, rows=rows, is_cut=is_cut)


def rows_of(model_admin: Any, request: Any, groups: list[Any]) -> list[ErrorRow]:
    """Return a line for each group, with three statements for all of them."""
    store = get_store()
    now = store.now()
    rows = {group.pk: Selection("failed", group=group.pk).rows() for group in groups}
    open_tasks: dict[str, int] = {}
    with suppress(TooSlow), statement_limit(store.alias, conf.admin.STATEMENT_SECONDS):
        open_tasks = capped_counts(rows, cap=MOST_COUNTED)
    counted = failures([group.pk for group in groups], now=now)
    return [_row(model_admin, request, group, open_tasks.get(group.pk), counted[group.pk], now) for group in groups]


def _row(model_admin: Any, request: Any, group: Any, found: int | None, counted: Failures, now: Any) -> ErrorRow:
    tasks = "?" if found is None else capped_text(found, MOST_COUNTED)
    return ErrorRow(
        error=error_line(group.error_class, group.message),
        mark=_mark(group, now),
        place=legible.line(group.place),
        tasks=tasks,
        counts=[number_format(count, force_grouping=True) for count in (counted.hour, counted.day, counted.week)],
        first_seen=moments.time_tag(group.first_seen, now),
        last_seen=moments.time_tag(group.last_seen, now),
        affects=task_name(group.task_path),
        url=_list_url(model_admin, group=group.pk),
        buttons=_buttons(model_admin, request, tasks, group=group.pk) if found != 0 else [],
    )


def _mark(group: Any, now: Any) -> Any:
    if group.is_new(now):
        return badge("new error")
    return badge("error is back") if group.is_back(now) else ""


def _buttons(model_admin: Any, request: Any, count: str, **condition: str) -> list[tuple[str, str]]:
    """Return what can be done to all of a kind, by the page that asks before it."""
    labels = {"retry": _("Retry %(count)s…") % {"count": count}, "dismiss": _("Dismiss…")}
    urls = {name: bulk_url(request, model_admin.admin_site, name, "failed", **condition) for name in labels}
    return [(labels[name], url) for name, url in urls.items() if url is not None]


def _list_url(model_admin: Any, **condition: str) -> str:
    return f"../?{urlencode(condition)}"


def _response(model_admin: Any, request: Any, name: str, *, count: str, **context: Any) -> Any:
    tabs = [
        {"label": tab.label, "url": f"../?tab={tab.name}", "is_current": False, "count": ""} for tab in model_admin.tabs
    ]
    tabs += model_admin.further_tabs(request, {name: count})
    return model_admin.respond(request, f"admin/locqueue/failed_by_{name}.html", tabs=tabs, **context)
