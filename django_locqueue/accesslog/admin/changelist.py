"""The list of requests: newest first, and only as far back as an index or a bound leads."""

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest

from django_locqueue.accesslog.admin import search
from django_locqueue.accesslog.admin.filters import SinceFilter, TimeFilter, UntilFilter
from django_locqueue.models import orderings

NEWEST = ("-time", "-id")  # not by the id alone: what is imported is old, whenever that was
WINDOW = 100_000


class BehindFilter(SimpleListFilter):
    """What comes after a given row, for a list that is longer than its pages."""

    title = ""
    parameter_name = "behind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return []  # not among the filters that are shown

    def queryset(self, request: Any, queryset: Any) -> Any:
        return queryset  # the change list applies it, before it looks how far back the rest may look


def bound_of(rows: Any, window: int) -> Any:
    """Return the condition that leaves the newest ``window`` rows and those of the same moment; None if all are."""
    last = rows.order_by(*NEWEST).values(*orderings.names(NEWEST))[window : window + 1].first()
    return None if last is None else orderings.not_beyond(NEWEST, last)


class LogChangeList(ChangeList):
    """Conditions that no index serves look at the newest ``window`` rows of what the others leave."""

    model_admin: Any  # an AccessLogAdmin
    window = WINDOW

    def get_ordering(self, request: Any, queryset: Any) -> Any:
        return list(NEWEST)  # whatever ?o= asks for

    def get_queryset(self, request: Any, exclude_parameters: Any = None) -> Any:
        self.window_is_full = False
        self.root_queryset = self._behind(request, self.root_queryset)
        if self._scans(request):
            self.root_queryset = self._in_window(request, self.root_queryset)
        return super().get_queryset(request, exclude_parameters)

    def get_results(self, request: Any) -> None:
        super().get_results(request)
        if not self.multi_page:
            # Admin asks without a limit when the count says that one page is enough; more may have come since.
            self.result_list: Any = self.result_list[: self.list_per_page]

    def _behind(self, request: Any, rows: Any) -> Any:
        asked = request.GET.get(BehindFilter.parameter_name)
        if not asked:
            return rows
        if not (asked.isascii() and asked.isdecimal() and len(asked) < 19):
            raise IncorrectLookupParameters
        last = rows.model._default_manager.filter(pk=int(asked)).values(*orderings.names(NEWEST)).first()
        return rows.none() if last is None else rows.filter(orderings.behind(NEWEST, last))

    def _scans(self, request: Any) -> bool:
        if search.is_path(search.term_of(self.query)):
            return True
        return any(request.GET.get(name) for name in self.model_admin.unindexed)

    def _in_window(self, request: Any, rows: Any) -> Any:
        indexed = rows
        for filter_class in (TimeFilter, SinceFilter, UntilFilter):
            value = request.GET.get(filter_class.parameter_name or "")
            if value:
                params = {filter_class.parameter_name: [value]}
                indexed = filter_class(request, params, self.model, self.model_admin).queryset(request, indexed)
        term = search.term_of(self.query)
        if not search.is_path(term):
            indexed = search.search(indexed, term, request)
        bound = bound_of(indexed, self.window)
        self.window_is_full = bound is not None
        return rows if bound is None else rows.filter(bound)

    # -- what the templates ask for

    @property
    def further_url(self) -> str | None:
        """Where a list goes on that is longer than its pages."""
        is_last_page = not self.multi_page or self.page_num >= self.paginator.num_pages
        if not (self.paginator.is_capped and is_last_page and len(self.result_list)):
            return None
        return self.get_query_string({"behind": self.result_list[len(self.result_list) - 1].pk}, remove=["p"])

    is_descending = True
