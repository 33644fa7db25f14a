"""What the list and the page of a request show of it."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.admin.programs import program
from django_locqueue.accesslog.admin.read_only import EMPTY
from django_locqueue.accesslog.admin.shown import masked, may_see_full_ip, may_see_network, milliseconds, second
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.visible import visible


class AccessLogColumns:
    admin_site: Any

    @admin.display(description=_("Time"))
    def moment(self, row: AccessLog) -> str:
        return second(row.time)

    # Two columns, chosen for each request: a column cannot ask who looks, and one admin object serves all threads.
    @admin.display(description=_("IP"))
    def address(self, row: AccessLog) -> Any:
        return format_html('<a href="{}">{}</a>', address_url(self.admin_site, row.ip), row.ip) if row.ip else EMPTY

    @admin.display(description=_("IP"))
    def masked_address(self, row: AccessLog) -> str:
        return masked(row.ip) if row.ip else EMPTY

    @admin.display(description=_("Location (estimated)"))
    def place(self, row: AccessLog) -> str:
        return EMPTY if row.location is None else place_text(row.location)

    @admin.display(description=_("Network"))
    def network(self, row: AccessLog) -> str:
        return row.prefix or EMPTY

    @admin.display(description=_("Request"))
    def request_line(self, row: AccessLog) -> str:
        query = f"?{visible(row.query)}" if row.query else ""
        return format_html(
            '<div class="lq-request"><span class="lq-quiet">{}</span> {}<span class="lq-quiet">{}</span></div>',
            visible(row.method),
            visible(row.path),
            query,
        )

    @admin.display(description=_("Host"))
    def host_text(self, row: AccessLog) -> str:
        return visible(row.host) or EMPTY

    @admin.display(description=_("Action"))
    def action_text(self, row: AccessLog) -> str:
        return visible(row.action) or EMPTY

    @admin.display(description=_("Route"))
    def route_text(self, row: AccessLog) -> str:
        return visible(row.route) or EMPTY

    @admin.display(description=_("Status"))
    def status_text(self, row: AccessLog) -> Any:
        # As text: a number would be written 1,000 in some languages.
        return format_html('<span class="{}">{}</span>', "lq-err" if row.status >= 500 else "", str(row.status))

    @admin.display(description=_("Took"))
    def took(self, row: AccessLog) -> str:
        return milliseconds(row.duration_ms)

    @admin.display(description=_("Size"))
    def size(self, row: AccessLog) -> str:
        return EMPTY if row.bytes is None else filesizeformat(row.bytes)

    @admin.display(description=_("User"))
    def who(self, row: AccessLog) -> str:
        if row.user_id is None:
            return EMPTY
        return visible(str(row.user)) if row.user else f"#{row.user_id}"  # deleted since

    @admin.display(description=_("Agent"))
    def agent(self, row: AccessLog) -> str:
        return visible(row.user_agent) or EMPTY

    @admin.display(description=_("Agent"))
    def agent_or_bot(self, row: AccessLog) -> str:
        text = visible(row.user_agent)
        if row.is_bot:
            return format_html('<span title="{}">{}</span>', text, _("bot"))
        return format_html('<span title="{}">{}</span>', text, visible(program(row.user_agent)))

    @admin.display(description=_("Referrer"))
    def referrer(self, row: AccessLog) -> str:
        return visible(row.referer) or EMPTY

    @admin.display(description=_("Visitor"))
    def visitor_text(self, row: AccessLog) -> str:
        return visible(row.visitor) or EMPTY

    @admin.display(description=_("Request id"))
    def request_id(self, row: AccessLog) -> str:
        return row.hit_id


def place_text(location: Location) -> str:
    return visible(" ".join(part for part in (location.text, location.isp) if part))


def address_url(admin_site: Any, ip: str) -> str:
    return reverse("admin:locqueue_accesslog_address", args=[ip], current_app=admin_site.name)


def allowed_columns(columns: Sequence[str], request: HttpRequest, row: AccessLog | None = None) -> list[str]:
    """Return the columns with the masked address in place of the full one, for those who may not see it.

    ``row``: the one that is shown; without it no network is.
    """
    if may_see_full_ip(request):
        return list(columns)
    shown = ["masked_address" if column == "address" else column for column in columns]
    prefix = (row and row.prefix) or ""
    return [column for column in shown if column != "network" or may_see_network(request, prefix)]
