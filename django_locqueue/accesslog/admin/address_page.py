"""The page of one address: when it came, what it asked for and as whom. For those who may see full addresses."""

import datetime
import ipaddress
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from django_locqueue.accesslog.admin.changelist import NEWEST, WINDOW, bound_of
from django_locqueue.accesslog.admin.columns import place_text
from django_locqueue.accesslog.admin.data_note import data_note
from django_locqueue.accesslog.admin.programs import program
from django_locqueue.accesslog.admin.shown import REQUESTS, may_see_full_ip
from django_locqueue.accesslog.analytics.period import HOUR, hour_of
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.prefix import network_prefix
from django_locqueue.accesslog.visible import visible
from django_locqueue.admin import moments
from django_locqueue.admin.charts import Chart, Column, Rank, Ranking, bar_chart
from django_locqueue.admin.numbers import whole
from django_locqueue.clock import local

MOST_ROWS = 10_000
HOURS_SHOWN = 24
FEW = 10


def address_page(model_admin: Any, request: HttpRequest, ip: str) -> Any:
    """Answer the request. Raises PermissionDenied, and Http404 for what is no address."""
    if not may_see_full_ip(request):
        raise PermissionDenied
    try:
        address = str(ipaddress.ip_address(ip))
    except ValueError as error:
        raise Http404 from error
    prefix = network_prefix(address, access_log.PREFIX_V4, access_log.PREFIX_V6)
    rows = rows_of(address, prefix)
    location = Location.objects.filter(pk=prefix).first()
    rows_url = f"{model_admin.list_url()}?{urlencode({'q': address})}"
    return model_admin.respond(
        request,
        "admin/locqueue_accesslog/address_page.html",
        title=address,
        rows_url=rows_url,
        network_url=f"{model_admin.list_url()}?{urlencode({'q': prefix})}",
        network=prefix,
        place=place_text(location) if location else "",
        found=rows,
        count_text=whole(sum(row.weight for row in rows)) + ("+" if len(rows) == MOST_ROWS else ""),
        first=moments.time_tag(rows[-1].time) if rows else "",
        last=moments.time_tag(rows[0].time) if rows else "",
        is_cut=len(rows) == MOST_ROWS,
        most=whole(MOST_ROWS),
        chart=hours_chart(rows, timezone.now()),
        rankings=rankings(rows, rows_url),
        **data_note(),
    )


def rows_of(ip: str, prefix: str) -> list[Any]:
    """Return the newest rows of an address, at most ``MOST_ROWS``: of its network's index, no further than a bound."""
    of_network = AccessLog.objects.filter(location_id=prefix)
    bound = bound_of(of_network, WINDOW)
    rows = of_network.filter(ip=ip) if bound is None else of_network.filter(bound, ip=ip)
    columns = ("time", "path", "status", "user_id", "user_agent", "weight")
    return list(rows.order_by(*NEWEST).values_list(*columns, named=True)[:MOST_ROWS])


def hours_chart(rows: Iterable[Any], now: datetime.datetime) -> Chart:
    """Return the bars of the last ``HOURS_SHOWN`` hours."""
    hits: Counter[datetime.datetime] = Counter()
    errors: Counter[datetime.datetime] = Counter()
    for row in rows:
        hour = hour_of(row.time)
        hits[hour] += row.weight
        errors[hour] += row.weight if row.status >= 500 else 0
    last = hour_of(now)
    hours = [last - n * HOUR for n in reversed(range(HOURS_SHOWN))]
    columns = [
        Column(f"{local(hour):%m-%d %H:%M}", hits[hour], errors=errors[hour], is_partial=hour == last) for hour in hours
    ]
    return bar_chart(_("Requests per hour"), columns, REQUESTS)


def rankings(rows: Sequence[Any], rows_url: str) -> list[Ranking]:
    """Return what it asked for most, with what outcome, as whom, and with which programs."""
    total = sum(row.weight for row in rows)
    names = {None: _("not signed in"), **_user_names(row.user_id for row in rows)}

    def ranking(heading: str, key: Callable[[Any], Any], label: Callable[[Any], str], condition: str = "") -> Ranking:
        counts: Counter[Any] = Counter()
        for row in rows:
            counts[key(row)] += row.weight
        ranks = [
            Rank(label(found), hits, total, f"{rows_url}&{urlencode({condition: found})}" if condition else "")
            for found, hits in counts.most_common(FEW)
        ]
        return Ranking(heading, heading, ranks)

    return [
        ranking(_("Path"), lambda row: row.path, visible, "path_is"),
        ranking(_("Status"), lambda row: row.status, str),
        ranking(_("User"), lambda row: row.user_id, lambda key: names.get(key, f"#{key}")),
        ranking(_("Agent"), lambda row: program(row.user_agent), lambda text: visible(text) or "–"),
    ]


def _user_names(keys: Iterable[Any]) -> dict[Any, str]:
    most = Counter(key for key in keys if key is not None).most_common(FEW)
    users = get_user_model()._default_manager.in_bulk([key for key, _count in most])
    return {key: visible(str(user)) for key, user in users.items()}
