"""The access log's filters. Their choices are fixed: a DISTINCT over the log would be a page that never loads."""

import datetime
from collections.abc import Sequence
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from django_locqueue.accesslog.geo.result import Precision

Choices = Sequence[tuple[str, Any]]


class FixedFilter(SimpleListFilter):
    """``choices_offered``: value and label of each. A value that is not among them filters nothing."""

    choices_offered: Choices = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(self.choices_offered)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        known = {value for value, _label in self.choices_offered}
        return self.narrow(queryset, value) if value is not None and value in known else queryset

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        raise NotImplementedError


class TimeFilter(FixedFilter):
    title = _("time")
    parameter_name = "last"
    choices_offered = (("1h", _("Last hour")), ("24h", _("Last 24 hours")), ("7d", _("Last 7 days")))
    spans = {
        "1h": datetime.timedelta(hours=1),
        "24h": datetime.timedelta(hours=24),
        "7d": datetime.timedelta(days=7),
    }

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(time__gte=timezone.now() - self.spans[value])


class StatusFilter(FixedFilter):
    title = _("status")
    parameter_name = "status_class"
    choices_offered = (("2", "2xx"), ("3", "3xx"), ("4", "4xx"), ("5", "5xx"))

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        first = int(value) * 100
        return rows.filter(status__gte=first, status__lt=first + 100)


class MethodFilter(FixedFilter):
    title = _("method")
    parameter_name = "method_is"
    choices_offered = tuple((method, method) for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"))

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(method=value)


class UserFilter(FixedFilter):
    title = _("signed in")
    parameter_name = "signed_in"
    choices_offered = (("yes", _("Yes")), ("no", _("No")))

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(user__isnull=value == "no")


class BotFilter(FixedFilter):
    title = _("bot")
    parameter_name = "bot"
    choices_offered = (("yes", _("Yes")), ("no", _("No")))

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(is_bot=value == "yes")


class PrecisionFilter(FixedFilter):
    title = _("precision")
    parameter_name = "precision__exact"
    choices_offered = (
        (Precision.RESERVED.value, _("Not a public address")),
        (Precision.COUNTRY.value, _("country/region")),
        (Precision.PROVINCE.value, _("province")),
        (Precision.CITY.value, _("city")),
        (Precision.DISTRICT.value, _("district")),
    )

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(precision=value)
