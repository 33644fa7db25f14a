"""What the lists of small tables have in common: read-only, not sorted or searched, with our strip on top."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ChangeList
from django.http import Http404
from django.urls import path

from django_locqueue.admin.live import live
from django_locqueue.admin.page_base import ModelAdminBase, PageMixin
from django_locqueue.admin.paginator import CappedPaginator
from django_locqueue.admin.strip import Strip
from django_locqueue.admin.task_base import ReadOnly

REFRESH_SECONDS = 10


class PlainChangeList(ChangeList):
    """Keeps its ordering, and lets the page complete the rows that it shows."""

    model_admin: Any  # a PlainListAdmin

    def __init__(self, request: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self.title = str(self.opts.verbose_name_plural)

    def get_ordering(self, request: Any, queryset: Any) -> Any:
        return list(self.model_admin.get_ordering(request))

    def get_results(self, request: Any) -> None:
        super().get_results(request)
        self.result_list: Any = list(self.result_list[: self.list_per_page])
        self.model_admin.complete(self.result_list)


class PlainListAdmin(ReadOnly, PageMixin, ModelAdminBase):
    empty: Any = ""
    introduction: Any = ""
    # The same changes can be made to each row by its own button.
    actions = None
    change_list_template = "admin/locqueue/plain_list.html"
    list_display_links = None
    list_max_show_all = 0
    list_per_page = 20
    lookups: frozenset[str] = frozenset()  # what the address may name
    paginator = CappedPaginator
    show_facets = admin.ShowFacets.NEVER
    show_full_result_count = False
    sortable_by = ()

    def lookup_allowed(self, lookup: str, value: str, request: Any = None) -> bool:
        return lookup in self.lookups

    def get_changelist(self, request: Any, **kwargs: Any) -> type[PlainChangeList]:
        return PlainChangeList

    @staticmethod
    def key_in(address: str) -> str:
        """Return the key that stands in an address. Raises Http404 for one that no row can have."""
        key = unquote(address)
        if "\x00" in key:  # PostgreSQL would refuse to look for it
            raise Http404
        return key

    def complete(self, rows: list[Any]) -> None:
        """Add to all the rows of a page what one statement finds for all of them."""

    def get_urls(self) -> list[Any]:
        name = f"locqueue_{self.opts.model_name}_changelist"
        return [path("", self.admin_site.admin_view(live(self.changelist_view)), name=name)]

    def changelist_view(self, request: Any, extra_context: Any = None) -> Any:
        return super().changelist_view(
            request,
            {
                "title": self.opts.verbose_name_plural,
                "introduction": self.introduction,
                "empty": self.empty,
                "lq": Strip(request, self.admin_site, self.opts.label_lower, refresh=REFRESH_SECONDS),
                **(extra_context or {}),
            },
        )
