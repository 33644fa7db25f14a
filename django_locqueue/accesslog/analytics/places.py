"""Where a request came from, as keys to count it by: the same place has one key, whichever provider named it."""

from collections.abc import Iterator

from django_locqueue.accesslog.analytics.keys import RESERVED, UNKNOWN, joined
from django_locqueue.accesslog.geo.china import CHINA, CHINA_CODE, city_name, province_name
from django_locqueue.accesslog.models import HourlyStat, Location

Dimension = HourlyStat.Dimension


def keys_of(
    state: str | None, country_code: str, country: str, province: str, city: str, isp: str, adcode: str
) -> Iterator[tuple[Dimension, str]]:
    """Give the key of each dimension of places. ``state``: None if the request has no location."""
    code, country, province, city, isp = (text or "" for text in (country_code, country, province, city, isp))
    yield Dimension.ISP, isp
    if state == Location.State.RESERVED:
        nowhere = RESERVED
    elif not code and not country:
        nowhere = UNKNOWN
    else:
        code = code or (CHINA_CODE if country == CHINA else "")
        if code == CHINA_CODE:
            province, city = province_name(province, adcode), city_name(city)
        yield Dimension.COUNTRY, joined(code, country)
        yield Dimension.PROVINCE, joined(code or country, province)
        yield Dimension.CITY, joined(code or country, province, city)
        return
    for dimension in (Dimension.COUNTRY, Dimension.PROVINCE, Dimension.CITY):
        yield dimension, nowhere
