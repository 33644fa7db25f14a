"""A change list that only does what an index serves."""

from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.utils.functional import cached_property

from django_locqueue.admin.filters import Unlisted
from django_locqueue.admin.tabs import WINDOW, Tab
from django_locqueue.models import orderings


class TaskChangeList(ChangeList):
    """Shows one tab in its one ordering; conditions that no index serves look at the tab's first rows only."""

    model_admin: Any  # a TaskAdminBase
    window = WINDOW

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self.title = str(self.opts.verbose_name_plural)
        self.filter_specs = [spec for spec in self.filter_specs if not isinstance(spec, Unlisted)]
        self.has_filters = bool(self.filter_specs)
        self.has_active_filters = any(self._is_active(spec) for spec in self.filter_specs)
        self.clear_all_filters_qs = self.get_query_string(remove=["queue", "state", "behind"])

    def get_ordering(self, request: Any, queryset: Any) -> Any:
        return list(self.tab.ordering)  # whatever ?o= asks for

    def get_queryset(self, request: Any, exclude_parameters: Any = None) -> Any:
        self.tab: Tab = self.model_admin.current_tab(request)
        self.window_is_full = False
        rows = self.tab.rows(self.root_queryset)
        self.root_queryset = self._in_window(request, rows)
        if self.tab.narrowed:
            self.root_queryset = self.tab.narrowed(self.root_queryset)
        return super().get_queryset(request, exclude_parameters)

    def get_results(self, request: Any) -> None:
        super().get_results(request)
        if not self.multi_page:
            # Admin asks without a limit when the count says that one page is enough; more may have come since.
            self.result_list: Any = self.result_list[: self.list_per_page]

    def _in_window(self, request: Any, rows: Any) -> Any:
        by_queue = bool(request.GET.get("queue")) and not self.tab.indexed_by_queue
        if not (by_queue or request.GET.get("state") or self.tab.narrowed) or self.query:
            return rows
        leading = orderings.names(self.tab.ordering)
        last = rows.order_by(*self.tab.ordering).values(*leading)[self.window : self.window + 1].first()
        if last is None:
            return rows
        self.window_is_full = True
        return rows.filter(orderings.not_beyond(self.tab.ordering, last))

    @staticmethod
    def _is_active(spec: Any) -> bool:
        return bool(spec.used_parameters)

    # -- what the templates ask for

    @cached_property
    def tab_links(self) -> list[dict[str, Any]]:
        """The tabs with their addresses; none if there is only one."""
        tabs = self.model_admin.tabs
        if len(tabs) == 1:
            return []
        return [
            {
                "label": tab.label,
                "url": self.get_query_string({"tab": tab.name, "q": None}, remove=["behind"]),
                "is_current": tab is self.tab,
            }
            for tab in tabs
        ]

    @property
    def is_last_page(self) -> bool:
        return not self.multi_page or self.page_num >= self.paginator.num_pages

    @property
    def further_url(self) -> str | None:
        """Where a list goes on that is longer than its pages."""
        if not (self.paginator.is_capped and self.is_last_page and len(self.result_list)):
            return None
        return self.get_query_string({"behind": self.result_list[len(self.result_list) - 1].pk})

    @property
    def is_descending(self) -> bool:
        return orderings.is_descending(self.tab.ordering)
