"""What a provider says about an address."""

import ipaddress
from dataclasses import dataclass
from enum import StrEnum

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


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

    ``country_code``: ISO 3166-1 alpha-2. The names are in the provider's language. ``adcode``: the place's number in
    GB/T 2260, of places in China. ``latitude``, ``longitude``: WGS 84, in degrees.
    """

    provider: str
    country_code: str = ""
    country: str = ""
    province: str = ""
    city: str = ""
    district: str = ""
    isp: str = ""
    adcode: str = ""
    latitude: float | None = None
    longitude: float | None = None
    is_reserved: bool = False

    @property
    def precision(self) -> Precision:
        if self.is_reserved:
            return Precision.RESERVED
        for area in (Precision.DISTRICT, Precision.CITY, Precision.PROVINCE):
            if getattr(self, area):
                return area
        return Precision.COUNTRY
