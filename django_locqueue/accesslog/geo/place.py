"""Makes a place of the fields that a provider has for it, whichever they are."""

from collections.abc import Mapping
from typing import Any

from django_locqueue.accesslog.geo import values
from django_locqueue.accesslog.geo.china import CHINA, CHINA_CODE, city_name, province_name
from django_locqueue.accesslog.geo.result import GeoResult

AREAS = ("country_code", "country", "province", "city", "district")
FIELDS = (*AREAS, "isp", "adcode", "latitude", "longitude")


def make_place(provider: str, fields: Mapping[str, Any], constants: Mapping[str, str]) -> GeoResult | None:
    """Return the place; None if no area is known.

    ``fields``: any of ``FIELDS``, as the provider said them. ``constants``: what is true of all that it knows, and so
    of no use where it knows nothing.
    """
    said = {name: values.text(fields.get(name)) for name in AREAS}
    said["country_code"] = values.country_code(said["country_code"])
    if not any(said.values()):
        return None
    if said["country"] == said["country_code"]:
        said["country"] = ""  # a code is no name
    for name, constant in constants.items():
        said[name] = said[name] or constant
    if said["country"] == CHINA:
        said["country_code"] = said["country_code"] or CHINA_CODE
    if said["country_code"] == CHINA_CODE:
        if not said["province"].isascii():  # what files say in English is shown so; the counts have one name for both
            said["province"] = province_name(said["province"])
        said["city"] = city_name(said["city"])
    return GeoResult(
        provider,
        country_code=said["country_code"],
        country=said["country"],
        province=said["province"],
        city=said["city"],
        district=said["district"],
        isp=values.text(fields.get("isp")),
        adcode=values.adcode(fields.get("adcode")),
        latitude=values.degrees(fields.get("latitude"), 90),
        longitude=values.degrees(fields.get("longitude"), 180),
    )
