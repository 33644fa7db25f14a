"""The access log in Django admin: to read and to delete, not to change."""

import datetime
import ipaddress
import unicodedata
from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth import get_user_model
from django.core.exceptions import BadRequest
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.filters import (
    BotFilter,
    MethodFilter,
    PrecisionFilter,
    StatusFilter,
    TimeFilter,
    UserFilter,
)
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.prefix import network_prefix
from django_locqueue.admin import moments
from django_locqueue.admin.paginator import CappedPaginator
from django_locqueue.admin.strip import Strip

EMPTY = "–"
PATH_SEARCH_WINDOW = datetime.timedelta(hours=24)


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A list that stays fast with millions of rows: no count of all, no facets, nothing sorted but by key."""

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
        return {"title": self.opts.verbose_name_plural, "lq": strip, **(context or {})}

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any) -> Any:
        # Only what is ticked, which is a page at most: "select all" could mean millions, and deleting loads each.
        try:
            ticked = queryset.filter(pk__in=request.POST.getlist(ACTION_CHECKBOX_NAME)[: self.list_per_page])
        except ValueError as error:
            raise BadRequest("What is ticked must be keys of rows.") from error
        return super().response_action(request, ticked, *args, **kwargs)


@admin.register(AccessLog)
class AccessLogAdmin(ReadOnlyAdmin):
    list_display = ("moment", "address", "place", "request_line", "status_text", "took", "who", "agent_or_bot")
    list_display_links = ("moment",)
    list_filter = (TimeFilter, StatusFilter, MethodFilter, UserFilter, BotFilter)
    lookups = frozenset(f.parameter_name for f in (TimeFilter, StatusFilter, MethodFilter, UserFilter, BotFilter))
    ordering = ("-id",)
    sortable_by = ()
    search_fields = ("ip",)  # makes the search box appear; get_search_results does the work
    search_help_text = _(
        "An IP address, a network, a user name, or a path that begins with / "
        "(of the last 24 hours, unless a time is chosen)."
    )
    fields = (
        "moment",
        "address",
        "place",
        "network",
        "verb",
        "host_text",
        "page",
        "action_text",
        "route",
        "status_text",
        "took",
        "bytes",
        "streaming",
        "who",
        "is_bot",
        "agent",
        "referrer",
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessLog]:
        # Not select_related: with a filter on the user or the network its join becomes an inner one, which hides the
        # requests of users and networks whose rows are gone.
        return super().get_queryset(request).prefetch_related("location", "user")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[AccessLog], search_term: str
    ) -> tuple[QuerySet[AccessLog], bool]:
        term = search_term.replace("\x00", "").strip()[:200]
        if term:
            queryset = search(queryset, term, request)
        return queryset, False

    @admin.display(description=_("Time"))
    def moment(self, row: AccessLog) -> str:
        local = timezone.localtime(row.time) if timezone.is_aware(row.time) else row.time
        return f"{local:%Y-%m-%d %H:%M:%S}"

    # Two columns, chosen for each request: a column cannot ask who looks, and one admin object serves all threads.
    @admin.display(description=_("IP"), empty_value=EMPTY)
    def address(self, row: AccessLog) -> str | None:
        return row.ip

    @admin.display(description=_("IP"), empty_value=EMPTY)
    def masked_address(self, row: AccessLog) -> str | None:
        return row.ip and masked(row.ip)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        return allowed_columns(self.list_display, request)

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return allowed_columns(self.fields, request)

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return allowed_columns(self.fields, request)

    @admin.display(description=_("Location (estimated)"), empty_value=EMPTY)
    def place(self, row: AccessLog) -> str | None:
        if row.location is None:
            return None
        return visible(" ".join(part for part in (row.location.text, row.location.isp) if part))

    @admin.display(description=_("Network"), empty_value=EMPTY)
    def network(self, row: AccessLog) -> str | None:
        return row.prefix

    @admin.display(description=_("Method"))
    def verb(self, row: AccessLog) -> str:
        return visible(row.method)

    @admin.display(description=_("Path"))
    def page(self, row: AccessLog) -> str:
        return visible(row.path)

    @admin.display(description=_("Request"))
    def request_line(self, row: AccessLog) -> str:
        return format_html('<span class="lq-quiet">{}</span> {}', visible(row.method), visible(row.path))

    @admin.display(description=_("Host"))
    def host_text(self, row: AccessLog) -> str:
        return visible(row.host)

    @admin.display(description=_("Action"))
    def action_text(self, row: AccessLog) -> str:
        return visible(row.action)

    @admin.display(description=_("Status"))
    def status_text(self, row: AccessLog) -> str:
        return str(row.status)  # a number would be written 1,000 in some languages

    @admin.display(description=_("Took"))
    def took(self, row: AccessLog) -> str:
        if row.duration_ms >= 999.5:
            return moments.span(datetime.timedelta(milliseconds=row.duration_ms))
        digits = 1 if row.duration_ms < 9.95 else 0
        return gettext("%(milliseconds)s ms") % {"milliseconds": number_format(round(row.duration_ms, digits), digits)}

    @admin.display(description=_("User"), empty_value=EMPTY)
    def who(self, row: AccessLog) -> str | None:
        if row.user_id is None:
            return None
        return visible(str(row.user)) if row.user else f"#{row.user_id}"  # deleted since

    @admin.display(description=_("Agent"))
    def agent(self, row: AccessLog) -> str:
        return visible(row.user_agent)

    @admin.display(description=_("Agent"))
    def agent_or_bot(self, row: AccessLog) -> str:
        text = visible(row.user_agent)
        if row.is_bot:
            return format_html('<span title="{}">{}</span>', text, _("bot"))
        return format_html('<span class="lq-line" title="{}">{}</span>', text, text)

    @admin.display(description=_("Referrer"))
    def referrer(self, row: AccessLog) -> str:
        return visible(row.referer)


@admin.register(Location)
class LocationAdmin(ReadOnlyAdmin):
    list_display = ("prefix", "state", "place", "isp", "provider", "area", "looked_up")
    list_filter = ("state", PrecisionFilter)
    lookups = frozenset({"state__exact", "precision__exact"})
    ordering = ("prefix",)
    sortable_by = ()
    search_fields = ("prefix__startswith",)
    search_help_text = _("The beginning of a network, such as 49.65.")

    @admin.display(description=_("Location (estimated)"))
    def place(self, row: Location) -> str:
        return visible(row.text)

    @admin.display(description=_("precision"), empty_value=EMPTY)
    def area(self, row: Location) -> Any:
        return dict(PrecisionFilter.choices_offered).get(row.precision, row.precision) or None

    @admin.display(description=_("looked up"))
    def looked_up(self, row: Location) -> Any:
        return moments.time_tag(row.resolved_at)


def search(rows: QuerySet[AccessLog], term: str, request: HttpRequest) -> QuerySet[AccessLog]:
    """Narrow by what the term looks like. Each way uses an index; none walks the whole log."""
    if term.startswith("/"):
        rows = rows.filter(path__startswith=term)
        chosen = TimeFilter.parameter_name in request.GET
        return rows if chosen else rows.filter(time__gte=timezone.now() - PATH_SEARCH_WINDOW)
    try:
        address = ipaddress.ip_address(term)
    except ValueError:
        if "/" in term:
            return rows.filter(location_id=term)
        users = get_user_model()
        return rows.filter(user__in=users._default_manager.filter(**{users.USERNAME_FIELD: term}))
    # The network is indexed; the address, which would be one more index to write for every hit, is not.
    rows = rows.filter(location_id=network_prefix(term, access_log.PREFIX_V4, access_log.PREFIX_V6))
    return rows.filter(ip=str(address)) if may_see_full_ip(request) else rows


def allowed_columns(columns: Sequence[str], request: HttpRequest) -> list[str]:
    """Return the columns with the masked address in place of the full one, for those who may not see it."""
    full = may_see_full_ip(request)
    return [column if full or column != "address" else "masked_address" for column in columns]


def may_see_full_ip(request: HttpRequest) -> bool:
    return request.user.has_perm("locqueue_accesslog.view_full_ip")


def masked(ip: str) -> str:
    """Return ``203.0.113.•`` or ``2001:db8:1::•``: what is personal in an address is its end."""
    network = ipaddress.ip_network(network_prefix(ip, 24, 48))
    return str(network.network_address).removesuffix("0" if network.version == 4 else "") + "•"


def visible(text: str) -> str:
    """Return the text with control and direction characters written out, so that no line can pose as another."""
    if text.isprintable():
        return text
    return "".join(
        f"\\u{ord(char):04x}" if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp") else char for char in text
    )
