"""Filters by where a request came from: their values are keys of the hourly counts."""

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.admin.filters import AskedFilter
from django_locqueue.accesslog.admin.shown import visible
from django_locqueue.accesslog.analytics import keys, reading
from django_locqueue.accesslog.analytics.period import Period

COUNTRIES_OFFERED = 12
COUNTED_HOURS = 7 * 24


class CountryFilter(SimpleListFilter):
    """Offers the countries with the most requests of a week."""

    title = _("country/region")
    parameter_name = "country"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        offered = reading.countries(Period.last(COUNTED_HOURS))[:COUNTRIES_OFFERED]
        asked = request.GET.get("country")
        if asked and asked not in dict(offered):
            offered.append((asked, asked))
        return [(code, visible(name)) for code, name in offered]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = (self.value() or "").replace("\x00", "")
        return queryset.filter(in_country(value)) if value else queryset


class PlaceFilter(AskedFilter):
    """A province or a city."""

    title = _("place")
    parameter_name = "place"

    def label(self, value: str) -> str:
        return visible(value.replace(keys.SEPARATOR, " · "))

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        country, province, city = (*value.split(keys.SEPARATOR), "", "")[:3]
        # Counted under one spelling; the rows have their provider's, 北京 or 北京市.
        rows = rows.filter(in_country(country), location__province__startswith=province)
        return rows.filter(location__city__startswith=city) if city else rows


class OperatorFilter(AskedFilter):
    title = _("network operator")
    parameter_name = "network_operator"

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(location__isp=value)


def in_country(key: str) -> Q:
    """Return the condition for the country's rows, by its code or, where no code is known, by its name."""
    is_code = len(key) == 2 and key.isascii()
    return Q(location__country_code=key) if is_code else Q(location__country=key)
