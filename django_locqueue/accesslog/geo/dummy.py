"""Says what a test tells it to."""

import ipaddress
from collections.abc import Mapping
from typing import Any

from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.place import FIELDS, make_place
from django_locqueue.accesslog.geo.provider import OfflineProvider
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress


class Dummy(OfflineProvider):
    """The provider, for tests. ``places``: by network, the fields of a place. Other addresses are unknown."""

    name = "dummy"

    def __init__(self, places: Mapping[str, Mapping[str, Any]]) -> None:
        """Raises :class:`GeoError` for what is no network and no field."""
        try:
            networks = {ipaddress.ip_network(network): fields for network, fields in places.items()}
        except ValueError as error:
            raise GeoError(f"dummy: {error}.") from error
        if unknown := [name for fields in networks.values() for name in fields if name not in FIELDS]:
            raise GeoError(f"dummy: there is no field {unknown[0]!r}; there are {', '.join(FIELDS)}.")
        # The narrowest network first.
        self._networks = sorted(networks.items(), key=lambda item: -item[0].prefixlen)

    def lookup(self, address: IPAddress) -> GeoResult | None:
        for network, fields in self._networks:
            if address in network:
                return make_place(self.name, fields, {})
        return None
