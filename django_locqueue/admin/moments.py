"""Times as people say them, in words that are all ours: ``humanize`` may not be installed in the project."""

import math
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.html import format_html
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_locqueue.clock import local


def span(length: timedelta) -> str:
    """Return ``0.034 s``, ``1.2 s``, ``41 s``, ``12 minutes``: two digits that mean something."""
    seconds = max(0.0, length.total_seconds())
    if seconds < 0.0005:
        return _("%(seconds)s s") % {"seconds": 0}
    if seconds < 9.95:
        # Not past milliseconds: the clocks of two machines differ by more.
        digits = next((digits for digits, least in ((1, 0.995), (2, 0.0995)) if seconds >= least), 3)
        return _("%(seconds)s s") % {"seconds": number_format(round(seconds, digits), digits)}
    if seconds < 60:
        return _("%(seconds)s s") % {"seconds": int(max(10, seconds))}
    return timesince(EPOCH, EPOCH + timedelta(seconds=math.floor(seconds)), depth=1)


EPOCH = datetime(1, 1, 1)  # noqa: DTZ001 - only a length is measured from it, as long as any that a row may hold


def distance(moment: datetime, now: datetime | None = None) -> str:
    """Return ``12 minutes ago`` or ``in 2 hours``."""
    now = now or timezone.now()
    seconds = (moment - now).total_seconds()
    if abs(seconds) < 60:
        count = int(abs(seconds))
        if count < 1:
            return _("now")
        if seconds < 0:
            return ngettext("%(count)s second ago", "%(count)s seconds ago", count) % {"count": count}
        return ngettext("in %(count)s second", "in %(count)s seconds", count) % {"count": count}
    if seconds < 0:
        return _("%(span)s ago") % {"span": span(-timedelta(seconds=seconds))}
    return _("in %(span)s") % {"span": span(timedelta(seconds=seconds))}


def time_tag(moment: datetime | None, now: datetime | None = None) -> Any:
    """Return the distance, with the whole time for those who point at it."""
    if moment is None:
        return "–"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.isoformat(), whole(moment), distance(moment, now)
    )


def whole(moment: datetime) -> str:
    """Return date, time with seconds, and zone."""
    here = local(moment)
    return f"{date_format(here, 'DATE_FORMAT')} {here:%H:%M:%S} {here.tzname() or ''}".strip()


def day(moment: datetime) -> str:
    return date_format(local(moment), "DATE_FORMAT")
