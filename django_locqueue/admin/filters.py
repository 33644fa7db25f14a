"""Filters whose choices are never read from the task table. What they mean is said by ``store/selection.py``."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from typing import Any

from django.contrib import admin
from django.db import connections
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from django_locqueue import registry
from django_locqueue.models import ErrorGroup, Limit, State, Worker
from django_locqueue.observability.snapshot import snapshot
from django_locqueue.policies import legible
from django_locqueue.store.selection import ALL_TIME

LARGEST_ID = 2**63 - 1
MOST_NAMES = 50
MOST_LINKS = 10  # more choices stand in a box, where typing a name finds it
BEHIND = "behind"
TAB = "tab"
SEARCH = "q"

PERIOD_LABELS = (("1h", _("Last hour")), ("24h", _("Last 24 hours")), ("7d", _("Last 7 days")))  # of PERIODS

# All that the address of a list may name. Everything else is refused: conditions on arguments would tell what masking
# hides.
PERIOD = ("last", "since", "until", "due")
NARROWING = frozenset(PERIOD) | {
    *("queue", "task", "worker", "error", "group", "limit"),
    *("state", "priority", "by_hand", "workflow", "upper_id"),
}
PARAMETERS = NARROWING | {TAB, BEHIND}


def others_of(changelist: Any, gone: Container[str]) -> list[tuple[str, str]]:
    """Return the rest of the address, for a form; nothing that a person could not read in it."""
    found = changelist.filter_params.items()
    pairs = [(key, value) for key, values in found if key not in gone for value in values]
    return [(key, value) for key, value in pairs if (key, value) == (legible.line(key), legible.line(value))]


class Offered(admin.SimpleListFilter):
    """Offers values of one parameter; the change list applies it, with all others."""

    clears: tuple[str, ...] = ()  # other parameters that a choice of this one replaces

    def queryset(self, request: Any, queryset: Any) -> Any:
        return queryset

    def lookups(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        offered = self.offered(request, model_admin)
        asked_for = request.GET.get(self.parameter_name)
        # A link may ask for another. Without this choice admin would leave the filter out, and nobody would see it.
        if asked_for and asked_for not in dict(offered):
            offered.append((asked_for, legible.line(asked_for[:200])))
        if len(offered) > MOST_LINKS:
            self.template = "admin/locqueue/select_filter.html"
            offered = [(value, label) for value, label in offered if value == legible.line(value)]
        return offered

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        raise NotImplementedError

    def choices(self, changelist: Any) -> Iterator[Any]:
        gone = dict.fromkeys((str(self.parameter_name), BEHIND, *self.clears))
        self.others = others_of(changelist, gone)  # for a choice that is sent by a form
        yield self.choice(changelist, gone, None, _("All"))
        for value, label in self.lookup_choices:
            yield self.choice(changelist, gone, value, label)

    def choice(self, changelist: Any, gone: dict[str, Any], value: Any, label: Any) -> dict[str, Any]:
        return {
            "selected": self.value() == value,
            "query_string": changelist.get_query_string(gone | {str(self.parameter_name): value}),
            "display": label,
            "value": value or "",
        }


class QueueFilter(Offered):
    title = _("queue")
    parameter_name = "queue"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [(queue.name, legible.line(queue.name)) for queue in snapshot().queues]


class TaskFilter(Offered):
    title = _("task")
    parameter_name = "task"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        paths = task_paths()
        names = Counter(path.rpartition(".")[2] for path in paths)
        labels = ((path, path.rpartition(".")[2]) for path in paths)
        return [(path, name if names[name] == 1 else path) for path, name in labels]


class WorkerFilter(Offered):
    title = _("worker")
    parameter_name = "worker"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [(name, legible.line(name)) for name in recent_names(request)["workers"]]


class ErrorFilter(Offered):
    title = _("error")
    parameter_name = "error"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [(path, legible.line(path.rpartition(".")[2])) for path in recent_names(request)["errors"]]


class GroupFilter(Offered):
    """One kind of error, chosen on the page of errors."""

    title = _("kind of error")
    parameter_name = "group"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return []


class LimitFilter(Offered):
    """Chosen on the page of limits."""

    title = _("limit")
    parameter_name = "limit"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        key = request.GET.get("limit", "")[:200]
        return [(key, Limit.name_of(key))] if key else []


class StateFilter(Offered):
    title = _("state")
    parameter_name = "state"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        if model_admin.current_tab(request).listing != "all":
            return []
        return [(state.value, state.label) for state in State if state is not State.BLOCKED]


class PriorityFilter(Offered):
    title = _("priority")
    parameter_name = "priority"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [
            ("high", pgettext_lazy("priority", "High")),
            ("normal", pgettext_lazy("priority", "Normal")),
            ("low", pgettext_lazy("priority", "Low")),
        ]


class ByHandFilter(Offered):
    title = _("retried by hand")
    parameter_name = "by_hand"

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Yes")), ("no", _("No"))]


class DueFilter(Offered):
    """When a task runs that waits for its time."""

    title = pgettext_lazy("filter of tasks", "due")
    parameter_name = "due"
    clears = ("last", "since", "until")

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        if model_admin.current_tab(request).kind.time != "run_after":
            return []
        return [("now", _("Now")), ("1h", _("Within an hour")), ("today", _("Today")), ("later", _("Later"))]


class PeriodFilter(Offered):
    """The last hour, day or week, or from one time to another."""

    parameter_name = "last"
    clears = ("since", "until", "due")
    titles = {
        "enqueued_at": pgettext_lazy("filter of tasks", "time added"),
        "finished_at": pgettext_lazy("filter of tasks", "time of the end"),
        "last_attempted_at": pgettext_lazy("filter of tasks", "time of the start"),
    }

    def __init__(self, request: Any, params: Any, model: Any, model_admin: Any) -> None:
        kind = model_admin.current_tab(request).kind
        self.title = self.titles.get(kind.time, "")
        self.is_whole = not kind.last
        super().__init__(request, params, model, model_admin)
        self.template = "admin/locqueue/period_filter.html"
        self.bounds = {name: request.GET.get(name, "")[:32] for name in ("since", "until")}
        is_narrow = any(request.GET.get(name) for name in ("since", "until", SEARCH, "workflow"))
        self.present = self.value() or ("" if is_narrow else kind.last) or ALL_TIME
        if any(self.bounds.values()):
            self.present = ""

    def offered(self, request: Any, model_admin: Any) -> list[tuple[str, Any]]:
        if model_admin.current_tab(request).kind.time == "run_after":
            return []
        return list(PERIOD_LABELS)

    def choice(self, changelist: Any, gone: dict[str, Any], value: Any, label: Any) -> dict[str, Any]:
        # Where a day is shown unless another time is asked for, all of it has to be asked for.
        asked = value if value or self.is_whole else ALL_TIME
        found = super().choice(changelist, gone, asked, label)
        return found | {"selected": (value or ALL_TIME) == self.present}


def recent_names(request: Any) -> dict[str, list[str]]:
    """Return the names of the latest ``workers`` and ``errors``, read once for a request by one statement."""
    if not hasattr(request, "_locqueue_names"):
        request._locqueue_names = _read(
            {
                "workers": Worker.objects.order_by("-id").values_list("name"),
                "errors": ErrorGroup.objects.order_by("-last_seen").values_list("error_class"),
            }
        )
    names: dict[str, list[str]] = request._locqueue_names
    return names


def _read(columns: Mapping[str, QuerySet[Any, Any]]) -> dict[str, list[str]]:
    alias = next(iter(columns.values())).db
    parts, params = [], []
    for label, names in columns.items():
        sql, values = names[:MOST_NAMES].query.get_compiler(using=alias).as_sql()
        parts.append(f"SELECT '{label}', named.* FROM ({sql}) AS named")  # noqa: S608 - the ORM wrote it
        params.extend(values)
    found: dict[str, list[str]] = {label: [] for label in columns}
    with connections[alias].cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), params)
        for label, name in cursor.fetchall():
            if name not in found[label]:
                found[label].append(name)
    return {label: sorted(names) for label, names in found.items()}


def task_paths() -> list[str]:
    """Return the paths of the tasks that this process knows."""
    registry.autodiscover()
    return list(registry.definitions())


def as_id(text: str) -> int | None:
    """Return the id that a person typed, with or without ``#``; None if it is none."""
    text = text.strip().removeprefix("#").replace(",", "")
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        return None
    number = int(text)
    return number if 0 < number <= LARGEST_ID else None
