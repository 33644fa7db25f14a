"""Which site sent a visitor."""

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
