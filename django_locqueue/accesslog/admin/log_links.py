"""Links from numbers to the rows behind them."""

import datetime
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from django_locqueue.accesslog.analytics import keys
from django_locqueue.accesslog.models import HourlyStat

Dimension = HourlyStat.Dimension

# The filters of the list, by what is counted.
FILTERS = {
    Dimension.STATUS: "status_class",
    Dimension.COUNTRY: "country",
    Dimension.PROVINCE: "place",
    Dimension.CITY: "place",
    Dimension.ISP: "network_operator",
    Dimension.PATH: "path_is",
    Dimension.ACTION: "action_is",
    Dimension.REFERER: "referrer_is",
}


class LogLinks:
    """``since`` and ``until``: whole hours. Bots are left out of the rows if they are left out of the numbers."""

    def __init__(self, admin_site: Any, since: datetime.datetime, until: datetime.datetime, *, bots: bool) -> None:
        self.list_url = reverse("admin:locqueue_accesslog_accesslog_changelist", current_app=admin_site.name)
        self.since = since
        self.until = until
        self.bots = bots

    def rows(self, **conditions: str) -> str:
        """Return the address of the rows of the whole time."""
        return self.between(self.since, self.until, **conditions)

    def between(self, since: datetime.datetime, until: datetime.datetime, **conditions: str) -> str:
        said = {"since": stamp(since), "until": stamp(until)} | ({} if self.bots else {"bot": "no"}) | conditions
        return f"{self.list_url}?{urlencode(said)}"

    def of(self, dimension: str, key: str) -> str:
        """Return the address of the rows that were counted under a key; empty for what is no condition."""
        if key in (keys.UNKNOWN, keys.REST, keys.RESERVED) or dimension not in FILTERS:
            return ""
        return self.rows(**{FILTERS[Dimension(dimension)]: key})


def stamp(moment: datetime.datetime) -> str:
    """Return the moment as the filters ``since`` and ``until`` read it, to the minute."""
    if timezone.is_naive(moment):
        return f"{moment:%Y-%m-%dT%H:%M}"
    return f"{moment.astimezone(datetime.UTC):%Y-%m-%dT%H:%M}Z"
