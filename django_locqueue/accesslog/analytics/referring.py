"""Which site sent a visitor."""

from typing import Any

from django.db.models import Case, CharField, F, Value, When
from django.db.models.functions import Concat, Lower, StrIndex, Substr
from django.db.models.lookups import Exact, StartsWith

from django_locqueue.accesslog.analytics.keys import UNKNOWN
from django_locqueue.accesslog.privacy.own_site import is_own, name_of


def referring_site(referer: str, host: str) -> str:
    """Return the host of the referring page, without ``www.``; empty if there is none, or if it is the site itself.

    ``host``: the site's own, as the request named it.
    """
    scheme, separator, rest = referer.partition("://")
    if not separator:
        return UNKNOWN  # only a path: the site itself
    site = rest.partition("/")[0].lower()
    if scheme.lower() not in ("http", "https"):
        return f"{scheme}://{site}"  # an app on a phone: android-app://com.example
    return UNKNOWN if is_own(site, host) else name_of(site)


def origin() -> Case:
    """Return ``https://example.org`` of a referrer, in small letters; empty if it is a page of the host asked.

    What the database groups by: a site has many pages, which the worker need not see.
    """
    scheme_end = StrIndex("referer", Value("://"))
    site = _before("/", Lower(Substr("referer", scheme_end + 3)))
    return Case(
        When(Exact(scheme_end, 0), then=Value("")),  # only a path
        When(Exact(_without_port(site), _without_port(Lower(F("host")))), then=Value("")),
        default=Concat(Lower(Substr("referer", 1, scheme_end + 2)), site),
        output_field=CharField(),
    )


def _before(mark: str, text: Any) -> Any:
    text = Concat(text, Value(mark), output_field=CharField())
    return Substr(text, 1, StrIndex(text, Value(mark)) - 1)


def _without_port(site: Any) -> Any:
    # Of IPv6 the port stays: the browser names the one that it asks, too.
    return Case(When(StartsWith(site, "["), then=site), default=_before(":", site), output_field=CharField())
