"""The list of networks and where they are."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.admin.filters import PrecisionFilter
from django_locqueue.accesslog.admin.read_only import EMPTY, ReadOnlyAdmin
from django_locqueue.accesslog.admin.shown import BEYOND_MASK, may_see_full_ip
from django_locqueue.accesslog.analytics.stale import mark_visits_from
from django_locqueue.accesslog.models import Location
from django_locqueue.accesslog.visible import visible
from django_locqueue.admin import moments
from django_locqueue.admin.pages import page


class LocationChangeList(ChangeList):
    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list: Any = [spelled_out(row) for row in self.result_list[: self.list_per_page]]


@page(Location)
class LocationAdmin(ReadOnlyAdmin):
    change_list_template = "admin/locqueue_accesslog/location_list.html"
    change_form_template = "admin/locqueue_accesslog/location_page.html"
    list_display = ("prefix", "state", "place", "isp", "provider", "area", "looked_up")
    list_filter = ("state", PrecisionFilter)
    lookups = frozenset({"state__exact", "precision__exact"})
    ordering = ("prefix",)
    sortable_by = ()
    search_fields = ("prefix__startswith",)
    search_help_text = _("The beginning of a network, such as 49.65.")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Location]:
        rows = super().get_queryset(request)
        # Hidden, not masked: a row is found by its beginning, and its page's address and name tell the network.
        return rows if may_see_full_ip(request) else rows.exclude(prefix__regex=BEYOND_MASK)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[LocationChangeList]:
        return LocationChangeList

    def get_object(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Location | None:
        row = super().get_object(request, *args, **kwargs)
        return row and spelled_out(row)

    def mark_stale(self, rows: Iterable[Location]) -> None:
        mark_visits_from(row.pk for row in rows)

    @admin.display(description=_("Location (estimated)"))
    def place(self, row: Location) -> str:
        return visible(row.text)

    @admin.display(description=_("precision"), empty_value=EMPTY)
    def area(self, row: Location) -> Any:
        return dict(PrecisionFilter.choices_offered).get(row.precision, row.precision) or None

    @admin.display(description=_("looked up"))
    def looked_up(self, row: Location) -> Any:
        return moments.time_tag(row.resolved_at)


def spelled_out(row: Location) -> Location:
    """Return the row with its texts as a page may show them: a service can answer anything. It is never saved."""
    for field in row._meta.concrete_fields:
        value = getattr(row, field.name)
        if isinstance(value, str) and not field.primary_key:
            setattr(row, field.name, visible(value))
    return row
