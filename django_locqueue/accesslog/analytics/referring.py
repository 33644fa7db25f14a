"""Which site sent a visitor."""

from django_locqueue.accesslog.analytics.keys import UNKNOWN


def referring_site(referer: str, host: str) -> str:
    """Return the host of the referring page; empty if there is none, or if it is the site itself.

    ``host``: the site's own, as the request named it.
    """
    scheme, separator, rest = referer.partition("://")
    if not separator:
        return UNKNOWN  # only a path: the site itself
    site = rest.partition("/")[0].lower()
    if scheme.lower() not in ("http", "https"):
        return f"{scheme}://{site}"  # an app on a phone: android-app://com.example
    site = _without_port(site)
    return UNKNOWN if site == _without_port(host.lower()) else site.removeprefix("www.")


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
