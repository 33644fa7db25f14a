"""One file in MaxMind's format: what it says of an address, and what it says of itself."""

import datetime
import os
from pathlib import Path
from typing import Any

from django_locqueue.accesslog.geo.errors import GeoError, NotInstalled
from django_locqueue.accesslog.geo.result import IPAddress

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
