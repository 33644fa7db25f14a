"""ip2region's text for a region, in either order of its fields.

Version 2 writes ``country|area|province|city|ISP``, version 3 ``country|province|city|ISP|code``. Both have five
fields, and a file can be built with either, so the last field decides: a code is two capital letters.
"""

import re

from django_locqueue.accesslog.geo.result import GeoResult

CHINA = "中国"
NOWHERE = {"", "内网IP", "Reserved"}

_code = re.compile("[A-Z]{2}")
# Longest first: 广西壮族自治区 is 广西 and not 广西壮族.
_province_suffix = re.compile("(特别行政区|维吾尔自治区|壮族自治区|回族自治区|自治区|省|市)$")
_city_suffix = re.compile("(?<=..)市$")


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
        code = code or "CN"
        province, city = short_province(province), short_city(city)
    return GeoResult(provider, country_code=code, country=country, province=province, city=city, isp=isp)


def short_province(name: str) -> str:
    """Return one spelling for each: 北京 for 北京市, 内蒙古 for 内蒙古自治区. Else a chart shows both."""
    return _province_suffix.sub("", name)


def short_city(name: str) -> str:
    """Return 杭州 for 杭州市, in China."""
    return _city_suffix.sub("", name)
