"""The access log's filters. None reads its choices from the log: a DISTINCT over it would be a page that never loads.

Only the time has an index. Whatever else is asked for is looked for in the newest rows; see ``changelist``.
"""

import datetime
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib.admin import SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from django_locqueue.accesslog.admin.shown import second
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.geo.result import Precision
from django_locqueue.accesslog.visible import visible

Choices = Sequence[tuple[str, Any]]
YES_OR_NO = (("yes", _("Yes")), ("no", _("No")))


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


class AskedFilter(SimpleListFilter):
    """A filter whose value comes from a link on another page; shown only where there is one."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        value = request.GET.get(self.parameter_name or "")
        return [(value, self.label(value))] if value else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = (self.value() or "").replace("\x00", "")
        return self.narrow(queryset, value) if value else queryset

    def label(self, value: str) -> str:
        return visible(value)

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


class SinceFilter(AskedFilter):
    title = pgettext_lazy("time", "since")
    parameter_name = "since"

    def label(self, value: str) -> str:
        return second(moment_of(value))

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(time__gte=moment_of(value))


class UntilFilter(SinceFilter):
    title = pgettext_lazy("time", "until")
    parameter_name = "until"

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(time__lt=moment_of(value))


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
    choices_offered = YES_OR_NO

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(user__isnull=value == "no")


class BotFilter(FixedFilter):
    title = _("bot")
    parameter_name = "bot"
    choices_offered = YES_OR_NO

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(is_bot=value == "yes")


class SlowFilter(FixedFilter):
    """Slower than ``SLOW_MS``: what sampling always keeps."""

    title = _("slow")
    parameter_name = "slow"
    choices_offered = YES_OR_NO

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        name = "duration_ms__gte" if value == "yes" else "duration_ms__lt"
        return rows.filter(**{name: access_log.SLOW_MS})


class PathFilter(AskedFilter):
    title = _("path")
    parameter_name = "path_is"

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(path=value)


class ActionFilter(AskedFilter):
    title = _("action")
    parameter_name = "action_is"

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        return rows.filter(action=value)


class ReferrerFilter(AskedFilter):
    title = _("referrer")
    parameter_name = "referrer_is"

    def narrow(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """``value``: a site as it is counted, without ``www.``; an app's begins with ``android-app://``."""
        sites = [value] if "://" in value else [f"{scheme}://{value}" for scheme in ("http", "https")]
        sites += [site.replace("://", "://www.", 1) for site in sites if "://www." not in site]
        found = Q(referer__in=sites)
        for site in sites:
            found |= Q(referer__startswith=f"{site}/") | Q(referer__startswith=f"{site}:")
        return rows.filter(found)


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


def moment_of(text: str) -> datetime.datetime:
    """Return the moment that ISO text stands for, as this project's rows hold it; without a zone it is the project's.

    Raises IncorrectLookupParameters, which admin answers, for anything else.
    """
    try:
        moment = datetime.datetime.fromisoformat(text)
        if moment.year in (datetime.MINYEAR, datetime.MAXYEAR):
            raise ValueError("in another time zone it may be in no year")
        if timezone.is_aware(moment) == settings.USE_TZ:
            return moment
        return timezone.make_aware(moment) if settings.USE_TZ else timezone.make_naive(moment)
    except (ValueError, OverflowError) as error:
        raise IncorrectLookupParameters(f"a time such as 2026-11-30T14:00Z was expected, got {text!r}") from error
