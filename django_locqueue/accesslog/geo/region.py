"""ip2region's text for a region, in either order of its fields.

Version 2 writes ``country|area|province|city|ISP``, version 3 ``country|province|city|ISP|code``. Both have five
fields, and a file can be built with either, so the last field decides: a code is two capital letters.
"""

import re

from django_locqueue.accesslog.geo.china import CHINA, CHINA_CODE, city_name, province_name
from django_locqueue.accesslog.geo.result import GeoResult

NOWHERE = {"", "内网IP", "Reserved"}

_code = re.compile("[A-Z]{2}")


def parse_region(text: str, provider: str) -> GeoResult | None:
    """Return the place of an ip2region region; None if it says nothing or that the address is not public."""
    fields = ["" if field in ("0", "unknown") else field for field in map(str.strip, text.split("|"))]
    fields += [""] * (5 - len(fields))
    if _code.fullmatch(fields[4]):
        country, province, city, isp, code = fields[:5]
    else:
        country, _area, province, city, isp = fields[:5]
        code = ""
    if country in NOWHERE:
        return None
    if country == CHINA:
        code = code or CHINA_CODE
        province, city = province_name(province), city_name(city)
    return GeoResult(provider, country_code=code, country=country, province=province, city=city, isp=isp)
