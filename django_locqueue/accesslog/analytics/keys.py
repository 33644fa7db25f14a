"""The keys of :class:`HourlyStat`: how what is counted is named, and how a person reads the name."""

from django.utils.translation import gettext

from django_locqueue.accesslog.models import HourlyStat

Dimension = HourlyStat.Dimension

UNKNOWN = ""
REST = "…"  # all keys of an hour that were too rare for a row of their own
RESERVED = "-"  # a place: of addresses that are not public, and nowhere
SEPARATOR = "|"  # between the parts of a place

PLACES = (Dimension.COUNTRY, Dimension.PROVINCE, Dimension.CITY)


def joined(*parts: str) -> str:
    """Return the key of a place: ``CN|浙江|杭州``."""
    return SEPARATOR.join(part.replace(SEPARATOR, "/") for part in parts)


def country_of(key: str) -> str:
    """Return what begins the keys of a country's provinces: of ``CN|中国`` the code, of ``|Утопия`` the name."""
    code, _separator, name = key.partition(SEPARATOR)
    return code or name


def label(dimension: str, key: str) -> str:
    """Return the key as a person reads it, in the present language."""
    if key == REST:
        return gettext("All others")
    if key == UNKNOWN:
        return gettext("No referrer") if dimension == Dimension.REFERER else gettext("Unknown")
    if dimension == Dimension.STATUS:
        return f"{key}xx"
    if dimension not in PLACES:
        return key
    if key == RESERVED:
        return gettext("Not a public address")
    *areas, last = key.split(SEPARATOR)
    if last:
        return last
    known = next(area for area in reversed(areas) if area)
    return known if dimension == Dimension.COUNTRY else f"{known} · {gettext('Unknown')}"
