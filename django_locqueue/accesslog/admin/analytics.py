"""The analytics page: what the hourly counts say about a period. It never reads the log itself."""

import datetime
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue.accesslog.admin.asked import PERIODS, Asked
from django_locqueue.accesslog.admin.data_note import data_note
from django_locqueue.accesslog.admin.log_links import LogLinks
from django_locqueue.accesslog.admin.rankings import Rankings
from django_locqueue.accesslog.admin.shown import REQUESTS, milliseconds
from django_locqueue.accesslog.analytics import reading
from django_locqueue.accesslog.analytics.period import HOUR, Period
from django_locqueue.accesslog.analytics.reading import Hour, Overview, Totals
from django_locqueue.admin import numbers
from django_locqueue.admin.charts import Chart, Column, bar_chart
from django_locqueue.clock import local

HOURLY_UP_TO = 7 * 24  # more bars than that, and they are days

COMPARE_LABELS = {
    "24h": gettext_lazy("Compare with the day before"),
    "7d": gettext_lazy("Compare with the week before"),
    "30d": gettext_lazy("Compare with the 30 days before"),
    "90d": gettext_lazy("Compare with the 90 days before"),
}


class Card(NamedTuple):
    label: Any
    value: str
    change: str = ""
    note: str = ""
    url: str = ""
    is_bad: bool = False


def analytics_page(model_admin: Any, request: HttpRequest) -> Any:
    """Answer the request. The number of queries is fixed, whatever the period holds."""
    asked = Asked.by(request.GET)
    now = timezone.now()
    period = Period.last(asked.hours, now)
    bots, compare = asked.bots == "yes", asked.compare == "yes"
    found = reading.overview(period, now, bots=bots, compare=compare)
    links = LogLinks(model_admin.admin_site, period.start, period.end, bots=bots)
    return model_admin.respond(
        request,
        "admin/locqueue_accesslog/analytics.html",
        current="locqueue_accesslog.analytics",
        title=_("Access analytics"),
        periods=[(label, asked.link(period=name), name == asked.period) for name, (_h, label) in PERIODS.items()],
        compare_label=COMPARE_LABELS[asked.period],
        compare_url=asked.link(compare="no" if compare else "yes"),
        is_compared=compare,
        bots_url=asked.link(bots="no" if bots else "yes"),
        with_bots=bots,
        cards=cards(found, links),
        chart=hours_chart(found.hours, found.hours_before, now, links),
        has_requests=found.totals.everything > 0,
        rankings=Rankings(request, model_admin, asked, period, links),
        **data_note(of_counts=True),
    )


def cards(found: Overview, links: LogLinks) -> list[Card]:
    totals, figures = found.totals, found.totals.figures
    now = found.comparison.now if found.comparison else Totals()
    before = found.comparison.before if found.comparison else Totals()
    visitors = numbers.short(totals.visitors.number)
    if not totals.visitors.is_exact:
        visitors = _("about %(number)s") % {"number": visitors}
    return [
        Card(
            _("Requests"),
            numbers.short(figures.hits),
            numbers.change(reading.change(now.figures.hits, before.figures.hits)),
            url=links.rows(),
        ),
        Card(
            _("Unique IPs"),
            visitors,
            numbers.change(reading.change(now.visitors.number, before.visitors.number)),
        ),
        Card(
            _("Server errors"),
            numbers.percent(figures.errors, figures.hits),
            numbers.change(reading.change(now.figures.errors, before.figures.errors)),
            note=numbers.whole(figures.errors),
            url=links.rows(status_class="5"),
            is_bad=figures.errors > 0,
        ),
        Card(
            _("p95 time"),
            "–" if figures.p95_ms is None else milliseconds(figures.p95_ms),
            numbers.change(reading.change(now.figures.p95_ms, before.figures.p95_ms)),
        ),
        Card(
            _("Bots"),
            numbers.percent(totals.bots, totals.everything),
            numbers.change(reading.change(now.bots, before.bots)),
            note=numbers.whole(totals.bots),
            url=links.rows(bot="yes"),
        ),
    ]


def hours_chart(hours: Sequence[Hour], before: Sequence[Hour] | None, now: datetime.datetime, links: LogLinks) -> Chart:
    """Return a bar for each hour, or for each day if those would be too many; days are the project's."""
    daily = len(hours) > HOURLY_UP_TO
    earlier_hours: Sequence[Hour | None] = before or [None] * len(hours)
    pairs = list(zip(hours, earlier_hours, strict=True))
    columns = []
    for _start, group in groupby(pairs, key=lambda pair: local(pair[0].start).date() if daily else pair[0].start):
        found = list(group)
        start, end = found[0][0].start, found[-1][0].start + HOUR
        columns.append(
            Column(
                label=_label(start, daily=daily),
                value=sum(hour.hits for hour, _earlier in found),
                errors=sum(hour.errors for hour, _earlier in found),
                before=sum(earlier.hits for _hour, earlier in found if earlier) if before else None,
                url=links.between(start, end),
                is_partial=end > now,
            )
        )
    return bar_chart(_("Requests per day") if daily else _("Requests per hour"), columns, REQUESTS)


def _label(start: datetime.datetime, *, daily: bool) -> str:
    return f"{local(start):%Y-%m-%d}" if daily else f"{local(start):%m-%d %H:%M}"
