"""What the lists of the access log have in common: to read and to delete, not to change."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from django_locqueue.accesslog.admin.data_note import data_note
from django_locqueue.accesslog.primary import primary
from django_locqueue.admin.page_base import ModelAdminBase, PageMixin
from django_locqueue.admin.paginator import CappedPaginator
from django_locqueue.admin.permissions import is_read_only
from django_locqueue.admin.strip import Strip

EMPTY = "–"


class ReadOnlyAdmin(PageMixin, ModelAdminBase):
    """A list that stays fast with millions of rows: no count of all, no facets, nothing sorted but by an index."""

    paginator = CappedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50
    list_max_show_all = 0
    empty_value_display = EMPTY
    change_list_template = "admin/locqueue/list_base.html"
    change_form_template = "admin/locqueue/form_base.html"
    lookups: frozenset[str] = frozenset()

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        # Django's own list would let ?user__password__startswith=... tell hashes letter by letter.
        return lookup in self.lookups

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return not is_read_only(request) and super().has_delete_permission(request, obj)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().changelist_view(request, self.on_our_page(request, extra_context))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        return super().changeform_view(request, object_id, form_url, self.on_our_page(request, extra_context))

    def on_our_page(self, request: HttpRequest, context: dict[str, Any] | None) -> dict[str, Any]:
        strip = Strip(request, self.admin_site, self.opts.label_lower)
        return {"title": self.opts.verbose_name_plural, "lq": strip, **data_note(), **(context or {})}

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        # PostgreSQL would refuse to look for a key with NUL; no row has one.
        return None if "\x00" in object_id else super().get_object(request, object_id, from_field)

    def mark_stale(self, rows: Iterable[Any]) -> None:
        """Have the hours counted again that change with the deletion of these rows."""

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        with transaction.atomic(using=primary(self.model).db):
            self.mark_stale([obj])
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        with transaction.atomic(using=primary(self.model).db):
            self.mark_stale(queryset)
            super().delete_queryset(request, queryset)

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any) -> Any:
        # Only what is ticked, which is a page at most: "select all" could mean millions, and deleting loads each.
        try:
            ticked = queryset.filter(pk__in=request.POST.getlist(ACTION_CHECKBOX_NAME)[: self.list_per_page])
        except ValueError as error:
            raise BadRequest("What is ticked must be keys of rows.") from error
        return super().response_action(request, ticked, *args, **kwargs)
