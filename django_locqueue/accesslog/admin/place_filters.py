"""Filters by where a request came from: their values are keys of the hourly counts."""

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.admin.filters import AskedFilter
from django_locqueue.accesslog.analytics import keys, reading
from django_locqueue.accesslog.analytics.period import Period
from django_locqueue.accesslog.geo.china import CHINA_CODE, CITY_SUFFIXES, spellings_of
from django_locqueue.accesslog.visible import visible

COUNTRIES_OFFERED = 12
COUNTED_HOURS = 7 * 24


class CountryFilter(AskedFilter):
    """Offers the countries with the most requests of a week."""

    title = _("country/region")
    parameter_name = "country"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        offered = reading.countries(Period.last(COUNTED_HOURS))[:COUNTRIES_OFFERED]
        asked = request.GET.get("country")
        if asked and asked not in dict(offered):
            offered.append((asked, asked))
        return [(code, visible(name)) for code, name in offered]

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(in_country(value))


class PlaceFilter(AskedFilter):
    """A province or a city."""

    title = _("place")
    parameter_name = "place"

    def label(self, value: str) -> str:
        return visible(value.replace(keys.SEPARATOR, " · "))

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        country, *areas = value.split(keys.SEPARATOR)
        rows = rows.filter(in_country(country))
        if areas:
            rows = rows.filter(in_province(country, areas[0]))
        return rows.filter(in_city(country, areas[1])) if len(areas) > 1 else rows


class OperatorFilter(AskedFilter):
    title = _("network operator")
    parameter_name = "network_operator"

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(location__isp=value)


# A place is counted under one name; the rows of locations have their provider's, 北京 or 北京市 or Beijing.


def in_country(key: str) -> Q:
    """Return the condition for the country's rows, by its code or, where no code is known, by its name."""
    is_code = len(key) == 2 and key.isascii()
    return Q(location__country_code=key) if is_code else Q(location__country=key)


def in_province(country: str, name: str) -> Q:
    code, spellings = spellings_of(name) if country == CHINA_CODE else ("", ())
    if not code:
        return Q(location__province=name)
    spelled = Q()
    for spelling in spellings:
        spelled |= Q(location__province__istartswith=spelling)
    return Q(location__adcode__startswith=code) | Q(location__adcode="") & spelled


def in_city(country: str, name: str) -> Q:
    suffixes = ("", *CITY_SUFFIXES) if country == CHINA_CODE and name else ("",)
    return Q(location__city__in=[name + suffix for suffix in suffixes])
