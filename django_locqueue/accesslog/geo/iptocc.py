"""The country of every address, from the registries' lists, by the package ``iptocc``.

It is the country that the address was assigned to, which is not always where it is used; so it comes last.
"""

from importlib import metadata

from django_locqueue.accesslog.geo.errors import NotInstalled
from django_locqueue.accesslog.geo.provider import OfflineProvider
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress


class Iptocc(OfflineProvider):
    """The provider. Raises :class:`NotInstalled` if the package is not installed."""

    name = "iptocc"

    def __init__(self) -> None:
        try:
            from iptocc import country_code
        except ImportError as error:
            raise NotInstalled("The package iptocc is missing.") from error
        self._country_code = country_code

    def lookup(self, address: IPAddress) -> GeoResult | None:
        code = self._country_code(str(address))
        return GeoResult(self.name, country_code=code) if code else None

    def version(self) -> str:
        # Its data have no date, but a release of their own whenever they are drawn anew.
        return metadata.version("iptocc")
