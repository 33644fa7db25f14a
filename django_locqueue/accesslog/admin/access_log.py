"""The list of requests, and the page of one."""

import datetime
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import path, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from django_locqueue.accesslog.admin import filters
from django_locqueue.accesslog.admin.address_page import address_page
from django_locqueue.accesslog.admin.analytics import analytics_page
from django_locqueue.accesslog.admin.around import around_request
from django_locqueue.accesslog.admin.changelist import BehindFilter, LogChangeList
from django_locqueue.accesslog.admin.columns import AccessLogColumns, allowed_columns
from django_locqueue.accesslog.admin.export import csv_response
from django_locqueue.accesslog.admin.place_filters import CountryFilter, OperatorFilter, PlaceFilter
from django_locqueue.accesslog.admin.read_only import ReadOnlyAdmin
from django_locqueue.accesslog.admin.search import search, term_of
from django_locqueue.accesslog.admin.shown import EXPORT
from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.checks import MIDDLEWARE
from django_locqueue.accesslog.losses import lost_since
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.admin.numbers import whole
from django_locqueue.admin.pages import page

INDEXED = (filters.TimeFilter, filters.SinceFilter, filters.UntilFilter, BehindFilter)
UNINDEXED = (
    filters.StatusFilter,
    filters.MethodFilter,
    CountryFilter,
    filters.UserFilter,
    filters.BotFilter,
    filters.SlowFilter,
    filters.PathFilter,
    filters.ActionFilter,
    filters.ReferrerFilter,
    PlaceFilter,
    OperatorFilter,
)


@page(AccessLog)
class AccessLogAdmin(AccessLogColumns, ReadOnlyAdmin):
    further_pages = (
        ("locqueue_accesslog.analytics", pgettext_lazy("page", "Analytics"), "locqueue_accesslog_analytics"),
    )
    list_display = ("moment", "address", "place", "request_line", "status_text", "took", "who", "agent_or_bot")
    list_display_links = ("moment",)
    list_filter = (*INDEXED, *UNINDEXED)
    unindexed = tuple(each.parameter_name for each in UNINDEXED)
    lookups = frozenset(each.parameter_name or "" for each in (*INDEXED, *UNINDEXED))
    change_list_template = "admin/locqueue_accesslog/request_list.html"
    change_form_template = "admin/locqueue_accesslog/request_page.html"
    sortable_by = ()
    search_fields = ("ip",)  # makes the search box appear; get_search_results does the work
    search_help_text = _("An IP address, a network, a user name, a request id, or a path that begins with /.")
    parts: tuple[tuple[Any, tuple[str, ...]], ...] = (
        (
            None,
            (
                "moment",
                "request_line",
                "host_text",
                "status_text",
                "took",
                "size",
                "streaming",
                "action_text",
                "route_text",
                "referrer",
                "request_id",
            ),
        ),
        (_("Visitor"), ("address", "place", "network", "who", "is_bot", "agent", "visitor_text")),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessLog]:
        # Not select_related: with a filter on the user or the network its join becomes an inner one, which hides the
        # requests of users and networks whose rows are gone.
        return super().get_queryset(request).prefetch_related("location", "user")

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[LogChangeList]:
        return LogChangeList

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AccessLog], search_term: str
    ) -> tuple[QuerySet[AccessLog], bool]:
        return search(queryset, term_of(search_term), request), False

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return allowed_columns(self.list_display, request)

    def get_fieldsets(self, request: HttpRequest, obj: AccessLog | None = None) -> Any:
        return [(name, {"fields": allowed_columns(fields, request, obj)}) for name, fields in self.parts]

    def get_readonly_fields(self, request: HttpRequest, obj: AccessLog | None = None) -> list[Any]:
        return [name for _part, fields in self.parts for name in allowed_columns(fields, request, obj)]

    def mark_stale(self, rows: Iterable[AccessLog]) -> None:
        mark_stale(row.time for row in rows)  # the counts hold addresses, too

    # -- pages

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        query = request.GET.urlencode()
        lost = lost_since(timezone.now() - datetime.timedelta(days=1))
        export_url = f"{self.url('export')}?{query}" if request.user.has_perm(EXPORT) else ""
        return super().changelist_view(
            request,
            {
                "analytics_url": self.url("analytics"),
                "export_url": export_url,
                "window_text": whole(LogChangeList.window),
                "is_installed": MIDDLEWARE in settings.MIDDLEWARE,
                "dropped": lost.dropped,
                "dropped_text": whole(lost.dropped),
                "failed": lost.failed,
                "failed_text": whole(lost.failed),
                **(extra_context or {}),
            },
        )

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        context |= around_request(self.admin_site, request, context["original"])
        return super().render_change_form(request, context, *args, **kwargs)

    def url(self, page: str, *args: Any) -> str:
        return reverse(f"admin:locqueue_accesslog_{page}", args=args, current_app=self.admin_site.name)

    def get_urls(self) -> list[Any]:
        return [
            path("analytics/", self.looked_at(self.analytics_view), name="locqueue_accesslog_analytics"),
            path("export/", self.looked_at(self.export_view), name="locqueue_accesslog_export"),
            path("address/<str:ip>/", self.looked_at(self.address_view), name="locqueue_accesslog_address"),
            *super().get_urls(),
        ]

    def analytics_view(self, request: HttpRequest) -> Any:
        return analytics_page(self, request)

    def address_view(self, request: HttpRequest, ip: str) -> Any:
        return address_page(self, request, ip)

    def export_view(self, request: HttpRequest) -> Any:
        """The rows of the list, as it is filtered."""
        if not request.user.has_perm(EXPORT):
            raise PermissionDenied
        return csv_response(self, request)
