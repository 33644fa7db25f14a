"""MaxMind DB files, from whomever: records are read as they are, since the makers agree on the container only."""

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django_locqueue.accesslog.conf import geo
from django_locqueue.accesslog.geo.errors import GeoError, NotInstalled
from django_locqueue.accesslog.geo.kept_file import KeptFile
from django_locqueue.accesslog.geo.place import make_place
from django_locqueue.accesslog.geo.provider import Attribution, OfflineProvider
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress
from django_locqueue.accesslog.geo.values import dig

try:
    import maxminddb
except ImportError as error:
    raise NotInstalled("The package maxminddb is missing.") from error


class MmdbFile:
    """One opened file, mapped into memory: threads and forked processes share it.

    ``built``: the day of its data. ``description``: its type, its description and its name, in small letters.
    Raises :class:`GeoError` if it is missing, unreadable or damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            # Not the C extension: one wrong byte in a record, where a key should be, ends the process (3.2.0). Read in
            # Python, it is an error, of whichever class.
            self._reader = maxminddb.open_database(self.path, maxminddb.MODE_MMAP)
            data = self._reader.metadata()
            self.built = datetime.datetime.fromtimestamp(data.build_epoch, datetime.UTC).date()
            self.description = " ".join((data.database_type, *data.description.values(), self.path.name)).lower()
            self._has_ipv6 = data.ip_version == 6
        except Exception as error:
            raise GeoError(f"The IP location file {self.path} cannot be read: {error}") from error

    def find(self, address: IPAddress) -> Any:
        """Return the record of the address, as its maker wrote it; None if there is none."""
        if address.version == 6 and not self._has_ipv6:
            return None
        try:
            return self._reader.get(address)
        except Exception as error:
            raise GeoError(f"The IP location file {self.path} is damaged ({error}). Download it again.") from error


LANGUAGES = ("zh-CN", "en")

# Where a record may have a field: as MaxMind has it (and DB-IP's own files), then flat, as ip-location-db and IPinfo.
# A place with names in several languages is followed by the language.
PATHS: Mapping[str, Sequence[str]] = {
    "country_code": ("country.iso_code", "registered_country.iso_code", "country_code", "country"),
    "country": ("country.names", "registered_country.names", "country_name", "country"),
    "province": ("subdivisions.0.names", "state1", "region"),
    "city": ("city.names", "city"),
    "district": ("district",),
    "isp": ("traits.isp", "isp", "autonomous_system_organization", "as_name"),
    "latitude": ("location.latitude", "latitude"),
    "longitude": ("location.longitude", "longitude"),
}

# By a word of what a file says of itself, or of its name.
MAKERS: Mapping[str, Attribution] = {
    "dbip": Attribution("IP Geolocation by DB-IP", "https://db-ip.com"),
    "geolite": Attribution(
        "This product includes GeoLite Data created by MaxMind, available from maxmind.com", "https://www.maxmind.com"
    ),
    "geoip": Attribution("MaxMind GeoIP", "https://www.maxmind.com"),
    "ipinfo": Attribution("IP address data powered by IPinfo", "https://ipinfo.io"),
}


class Mmdb(OfflineProvider):
    """The provider. ``paths``: of files that are asked in this order; None: those of the settings.

    ``languages``: of names, the first that a record has.
    """

    name = "mmdb"

    def __init__(
        self, paths: Sequence[str | os.PathLike[str]] | None = None, languages: Sequence[str] = LANGUAGES
    ) -> None:
        paths = geo("MMDB") if paths is None else paths
        if not paths or isinstance(paths, str):
            raise GeoError(f'mmdb: there is no file; give a list of paths as "MMDB", got {paths!r}.')
        self._files = [KeptFile(path, MmdbFile) for path in paths]
        self._languages = languages

    def lookup(self, address: IPAddress) -> GeoResult | None:
        for file in self._files:
            record = file.get().find(address)
            fields = {name: self._field(record, paths) for name, paths in PATHS.items()}
            if place := make_place(self.name, fields, {}):
                return place
        return None

    def _field(self, record: Any, paths: Sequence[str]) -> Any:
        for path in paths:
            found = dig(record, path)
            if path.endswith("names"):
                found = next((dig(found, language) for language in self._languages if dig(found, language)), None)
            if found is not None and not isinstance(found, Mapping):
                return found
        return None

    def attributions(self) -> Sequence[Attribution]:
        descriptions = [file.get().description for file in self._files]
        return [maker for word, maker in MAKERS.items() if any(word in words for words in descriptions)]

    def built(self) -> Sequence[datetime.date]:
        return [file.get().built for file in self._files]
