"""What a provider says about an address."""

import ipaddress
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class GeoError(Exception):
    """A provider cannot answer at all: its file or package is missing or broken."""


class Precision(StrEnum):
    """The smallest area that is known."""

    RESERVED = "reserved"
    COUNTRY = "country"
    PROVINCE = "province"
    CITY = "city"
    DISTRICT = "district"


@dataclass(frozen=True, slots=True)
class GeoResult:
    """A place; what is not known is empty.

    ``country_code``: ISO 3166-1 alpha-2. The names are in the provider's language.
    """

    provider: str
    country_code: str = ""
    country: str = ""
    province: str = ""
    city: str = ""
    district: str = ""
    isp: str = ""
    is_reserved: bool = False

    @property
    def precision(self) -> Precision:
        if self.is_reserved:
            return Precision.RESERVED
        for area in (Precision.DISTRICT, Precision.CITY, Precision.PROVINCE):
            if getattr(self, area):
                return area
        return Precision.COUNTRY

    def with_country(self, code: str, name: str) -> "GeoResult":
        return replace(self, country_code=code, country=name)


class Provider(Protocol):
    """Knows where addresses are. Used by many threads at once."""

    def lookup(self, address: IPAddress) -> GeoResult | None:
        """Return the place, or None if it is not known. Raises :class:`GeoError` if the provider is out of order."""
        ...
