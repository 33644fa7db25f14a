"""The tables of the analytics page: the busiest keys of each dimension, with links to their rows."""

import ipaddress
from collections.abc import Callable, Sequence
from typing import Any

from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from django_locqueue.accesslog.admin.asked import Asked
from django_locqueue.accesslog.admin.columns import address_url
from django_locqueue.accesslog.admin.log_links import LogLinks
from django_locqueue.accesslog.admin.shown import masked, may_see_full_ip, milliseconds
from django_locqueue.accesslog.analytics import keys, reading
from django_locqueue.accesslog.analytics.period import Period
from django_locqueue.accesslog.analytics.reading import Dimension, Entry, Table
from django_locqueue.accesslog.visible import visible
from django_locqueue.admin.charts import Rank, Ranking
from django_locqueue.admin.numbers import percent

MANY, FEW = 10, 8
COLOURS = {"2": "ok", "3": "quiet", "4": "warn", "5": "err"}


class Rankings:
    """Read by the template, each by its own two queries."""

    def __init__(self, request: HttpRequest, model_admin: Any, asked: Asked, period: Period, links: LogLinks) -> None:
        self.admin_site = model_admin.admin_site
        self.full_ip = may_see_full_ip(request)
        self.asked = asked
        self.period = period
        self.links = links

    @cached_property
    def status(self) -> Ranking:
        table = self._top(Dimension.STATUS)
        return Ranking(_("Status"), _("Status"), self._ranks(table, sorted(table.entries, key=lambda entry: entry.key)))

    @cached_property
    def places(self) -> list[Ranking]:
        """Countries; the provinces of one of them; cities of that country or of one of its provinces; operators."""
        into, named = self._country()
        asked = self.asked.province
        province = asked if into and asked.startswith(into + keys.SEPARATOR) else ""
        provinces = self._top(Dimension.PROVINCE, limit=MANY, within=into)
        cities = self._top(Dimension.CITY, limit=MANY, within=province or into)
        return [
            Ranking(
                _("Country/region"),
                _("Country/region"),
                self._ranks(self._countries, into=lambda entry: self.asked.link(country=entry.key, province="")),
            ),
            Ranking(
                _("Province"),
                _("Province"),
                self._ranks(
                    provinces, into=lambda entry: self.asked.link(country=into, province=entry.key), chosen=province
                ),
                note=named,
            ),
            Ranking(
                _("City"),
                _("City"),
                self._ranks(cities),
                note=visible(province.rpartition(keys.SEPARATOR)[2]) if province else named,
            ),
            Ranking(_("Network operator"), _("Network operator"), self._ranks(self._top(Dimension.ISP))),
        ]

    @cached_property
    def paths(self) -> Ranking:
        return self._with_times(_("Top paths"), _("Path"), Dimension.PATH)

    @cached_property
    def actions(self) -> Ranking:
        return self._with_times(_("Top actions"), _("Action"), Dimension.ACTION)

    @cached_property
    def referrers(self) -> Ranking:
        return Ranking(_("Top referrers"), _("Referrer"), self._ranks(self._top(Dimension.REFERER, limit=MANY)))

    @cached_property
    def addresses(self) -> Ranking:
        table = self._top(Dimension.IP, limit=MANY)
        return Ranking(
            _("Top IPs"), _("IP"), [self._address(entry, table.hits) for entry in table.entries], more=(_("Errors"),)
        )

    # -- parts

    @cached_property
    def _countries(self) -> Table:
        return self._top(Dimension.COUNTRY, limit=MANY)

    def _country(self) -> tuple[str, str]:
        """Return key and name of the country to look into: the one asked for, or the busiest that is known."""
        known = {e.key: e.label for e in self._countries.entries if e.key not in (keys.UNKNOWN, keys.RESERVED)}
        key = self.asked.country or next(iter(known), "")
        return key, visible(known.get(key, key))

    def _top(self, dimension: str, *, limit: int = FEW, within: str = "") -> Table:
        bots = self.asked.bots == "yes"
        return reading.top(dimension, self.period, limit=limit, bots=bots, within=within)

    def _ranks(
        self,
        table: Table,
        entries: Sequence[Entry] | None = None,
        *,
        into: Callable[[Entry], str] | None = None,
        chosen: str = "",
        cells: Callable[[Entry], Sequence[Any]] = lambda entry: (),
    ) -> list[Rank]:
        return [
            Rank(
                visible(entry.label),
                entry.figures.hits,
                table.hits,
                self.links.of(table.dimension, entry.key),
                cells=cells(entry),
                colour=COLOURS.get(entry.key, "") if table.dimension == Dimension.STATUS else "",
                into=into(entry) if into and entry.key not in (keys.UNKNOWN, keys.RESERVED) else "",
                is_chosen=bool(chosen) and entry.key == chosen,
            )
            for entry in (table.entries if entries is None else entries)
        ]

    def _with_times(self, title: str, heading: str, dimension: str) -> Ranking:
        table = self._top(dimension, limit=MANY)
        return Ranking(title, heading, self._ranks(table, cells=_times), more=(_("p95"), _("Errors")))

    def _address(self, entry: Entry, of: float) -> Rank:
        linked = self.full_ip and _is_address(entry.key)
        hidden = not self.full_ip and _is_address(entry.key)
        return Rank(
            masked(entry.key) if hidden else visible(entry.label),
            entry.figures.hits,
            of,
            self.links.rows(q=entry.key) if linked else "",
            note=visible(entry.place),
            cells=(_errors(entry),),
            into=address_url(self.admin_site, entry.key) if linked else "",
        )


def _times(entry: Entry) -> tuple[str, str]:
    p95 = entry.figures.p95_ms
    return ("–" if p95 is None else milliseconds(p95), _errors(entry))


def _errors(entry: Entry) -> str:
    return percent(entry.figures.errors, entry.figures.hits)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
