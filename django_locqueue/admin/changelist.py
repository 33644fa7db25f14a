"""A change list that only does what an index serves, and its tabs: each shows one listing, in its order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import InvalidPage
from django.db.models import Q, Subquery
from django.utils.functional import cached_property

from django_locqueue import conf
from django_locqueue.admin.bulk_links import bulk_page
from django_locqueue.admin.changes import CHANGES
from django_locqueue.admin.filters import BEHIND, NARROWING, PARAMETERS, SEARCH, TAB
from django_locqueue.models import Task, orderings
from django_locqueue.models.listing import LISTINGS, Listing
from django_locqueue.observability.stats import CAP, capped_text
from django_locqueue.statement_limit import TooSlow, statement_limit
from django_locqueue.store.selection import Selection


@dataclass(frozen=True)
class Tab:
    """One part of a list. ``name``: in the address. ``listing``: of ``LISTINGS``.

    ``changes``: names of what can be done to rows here. ``columns``: other ones than the page's. ``refresh``: after
    how many seconds the page shows its rows as they are then; 0: only when a person asks, since boxes are ticked there.
    """

    name: str
    listing: str
    label: Any
    changes: tuple[str, ...]
    empty: Any
    columns: tuple[str, ...] = ()
    refresh: int = 0

    @property
    def kind(self) -> Listing:
        return LISTINGS[self.listing]

    @property
    def counted(self) -> Callable[[Any], Any] | None:
        """What to count for its label; None if only reading rows would tell."""
        kind = self.kind
        if kind.narrowed is not None:
            return None
        return lambda rows: kind.rows(rows).order_by(*kind.ordering)


WINDOW = CAP  # rows: each may lie on a page of its own, and a list is to be there in 0.2 s


class TaskChangeList(ChangeList):
    """Shows one listing in its one ordering; conditions that no index serves look at ``window`` of its rows at once."""

    model_admin: Any  # a TaskAdminBase
    window = WINDOW

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        self.request = request
        self.took_too_long = False
        super().__init__(request, *args, **kwargs)
        self.title = str(self.opts.verbose_name_plural)
        self.has_active_filters = any(request.GET.get(name) for name in NARROWING)
        self.clear_all_filters_qs = self.get_query_string(dict.fromkeys((*NARROWING, BEHIND)))

    def get_filters_params(self, params: Any = None) -> Any:
        """Leave out our parameters that have no filter on this page: the selection knows all of them."""
        filters: Any = self.list_filter
        own = {spec.parameter_name for spec in filters}
        found = super().get_filters_params(params)
        return {name: value for name, value in found.items() if name not in PARAMETERS - own}

    def get_ordering(self, request: Any, queryset: Any) -> Any:
        return list(self.selection.ordering)  # whatever ?o= asks for

    def get_queryset(self, request: Any, exclude_parameters: Any = None) -> Any:
        self.tab: Tab = self.model_admin.current_tab(request)
        self.window_end: int | None = None
        try:
            self.selection: Selection = self.model_admin.selection(request)
        except ValueError as error:
            raise IncorrectLookupParameters(str(error)) from error
        rows = self.listed = self._behind(request, self.selection.listed(self.model_admin.get_queryset(request)))
        if self.selection.scans:
            rows = self._in_window(rows)
        self.root_queryset = self.selection.matching(rows)
        return super().get_queryset(request, exclude_parameters)

    def get_results(self, request: Any) -> None:
        """Read the page and the count, or neither if that takes too long."""
        self.show_full_result_count, self.full_result_count = False, None
        self.show_admin_actions, self.can_show_all = True, False
        try:
            with statement_limit(self.queryset.db, conf.admin.STATEMENT_SECONDS):
                self._read(request, self.queryset)
        except TooSlow:
            self.took_too_long = True
            self._read(request, self.queryset.none())

    def _read(self, request: Any, rows: Any) -> None:
        self.paginator = self.model_admin.get_paginator(request, rows, self.list_per_page)
        if len(self.model_admin.tabs) > 1:
            tabs = [tab for tab in self.model_admin.tabs if tab.counted]
            besides = {tab.name: tab.counted(Task.objects.all()) for tab in tabs}
            self.paginator.besides = besides | self.model_admin.counted_besides()
        self.result_count = self.paginator.count
        self.multi_page = self.result_count > self.list_per_page
        try:
            page = self.paginator.page(self.page_num if self.multi_page else 1)
        except InvalidPage as error:
            raise IncorrectLookupParameters from error
        # More than the count says may have come since. Where there is none, the window is not read again.
        self.result_list: Any = list(page.object_list[: self.list_per_page]) if self.result_count else []

    def _behind(self, request: Any, rows: Any) -> Any:
        """Return what comes after a given task, for lists that are longer than the paginator counts."""
        asked = request.GET.get(BEHIND)
        if not asked:
            return rows
        if not (asked.isascii() and asked.isdecimal() and len(asked) < 19):
            raise IncorrectLookupParameters(f"{BEHIND} must be the id of a task.")
        ordering = self.selection.ordering
        row = Task.objects.filter(pk=int(asked)).values(*orderings.names(ordering)).first()
        if row is None or None in row.values():
            return rows.none()  # it is gone, or in another list by now
        return rows.filter(orderings.behind(ordering, row))

    def _in_window(self, rows: Any) -> Any:
        ordering = self.selection.ordering
        # The id alone: with a time among the columns Django sorts by it as it is read, and so by no index.
        ids = rows.values("pk")
        self.window_end = ids.values_list("pk", flat=True)[self.window - 1 : self.window].first()
        if self.window_end is None:
            return rows
        columns = orderings.names(ordering)
        end = Task.objects.filter(pk=self.window_end)
        if ordering[0] not in orderings.COMMON:
            return rows.filter(orderings.not_beyond(ordering, {columns[0]: Subquery(end.values(columns[0]))}))
        bounds = Task.objects.filter(Q(pk=self.window_end) | Q(pk=Subquery(ids[:1]))).values(*columns)
        found = {row["id"]: row for row in bounds}
        last = found.pop(self.window_end, None)
        # Gone since: its place is not known, and the statement's limit is the bound.
        return rows.filter(orderings.not_beyond(ordering, last, *found.values())) if last else rows

    # -- what the templates ask for

    @property
    def window_is_full(self) -> bool:
        return self.window_end is not None

    @property
    def window_text(self) -> str:
        return capped_text(self.window, self.window)

    @cached_property
    def tab_links(self) -> list[dict[str, Any]]:
        """The tabs with their addresses and counts, and the pages beside them; none if there is only one."""
        tabs = self.model_admin.tabs
        counts = {name: capped_text(count) for name, count in self.paginator.counts.items()}
        further: list[dict[str, Any]] = self.model_admin.further_tabs(self.request, counts)
        if len(tabs) + len(further) == 1:
            return []
        gone = dict.fromkeys((SEARCH, BEHIND, "state", "due", "last", "since", "until"))
        links: list[dict[str, Any]] = [
            {
                "label": tab.label,
                "url": self.get_query_string({TAB: tab.name} | gone),
                "is_current": tab.name == self.tab.name,
                "count": self._count_of(tab),
            }
            for tab in tabs
        ]
        return links + further

    def _count_of(self, tab: Tab) -> str:
        if tab.name in self.paginator.counts:
            return capped_text(self.paginator.counts[tab.name])
        is_whole = tab.name == self.tab.name and not (self.is_narrowed or self.window_is_full or self.took_too_long)
        return self.paginator.count_text if is_whole else ""

    @cached_property
    def bulk_links(self) -> dict[str, str]:
        """Where each change can be made to all that match, by its name; nothing if the person may not."""
        url = bulk_page(self.request, self.model_admin.admin_site)
        if not url or not self.result_count:
            return {}
        # A change that is a verb with a time or the like is asked for as that verb.
        verbs = [name for name in self.tab.changes if name == CHANGES[name].verb.name]
        names = [name for name in verbs if self.model_admin.offers(self.request, name)]
        gone = dict.fromkeys((TAB, BEHIND))
        return {name: url + self.get_query_string({"listing": self.tab.listing, "verb": name} | gone) for name in names}

    @property
    def bulk_choices(self) -> list[tuple[Any, str]]:
        """The same with their words, but for what has a button of its own."""
        return [
            (f"{str(CHANGES[name].label).rstrip('…')}…", url)
            for name, url in self.bulk_links.items()
            if name != "retry"
        ]

    @cached_property
    def export_url(self) -> str | None:
        url: str | None = self.model_admin.export_url(self.request)
        return url and url + self.get_query_string()

    @property
    def is_narrowed(self) -> bool:
        return self.has_active_filters or bool(self.query)

    @property
    def is_last_page(self) -> bool:
        return not self.multi_page or self.page_num >= self.paginator.num_pages

    @property
    def further_url(self) -> str | None:
        """Where a list goes on that is longer than its pages, or than what was looked at."""
        if not self.is_last_page:
            return None
        if self.paginator.is_capped and self.result_list:
            return self.get_query_string({BEHIND: self.result_list[-1].pk})
        return self.get_query_string({BEHIND: self.window_end}) if self.window_is_full else None

    @property
    def is_descending(self) -> bool:
        return orderings.is_descending(self.selection.kind.ordering)
