"""What every source of locations offers, whether it is a file or a service."""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django_locqueue.accesslog.geo.result import GeoResult, IPAddress


@dataclass(frozen=True, slots=True)
class Attribution:
    """Whom a page must name when it shows what a provider said: a text, and where it links to."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Answers:
    """What a provider said in one call.

    ``places``: by address; None where the provider does not know it, which is worth remembering. An address that is
    missing was not answered, and is to be asked again.
    ``pause``: seconds in which the provider wants no further call, although this one went well.
    """

    places: Mapping[IPAddress, GeoResult | None]
    pause: float = 0.0


class Provider(ABC):
    """A source of locations. Used by many threads at once, and by processes that were forked after it was made."""

    name: str  # in rows, in log lines, and as the key of its rate; unique in a chain
    offline = True  # it answers from this machine, in microseconds
    batch_size = 1  # most addresses in one call
    interval = 0.0  # least seconds between two calls, over all workers
    families: frozenset[int] = frozenset({4, 6})  # IP versions
    countries: frozenset[str] | None = None  # the only ones it knows, as ISO codes; None: the world
    attribution: Attribution | None = None

    @abstractmethod
    def lookup_many(self, addresses: Sequence[IPAddress]) -> Answers:
        """Return where the addresses are, of which there are at most ``batch_size``.

        Raises :class:`GeoError` when the call as a whole went wrong; its subclass says what is to be done.
        """

    def serves(self, address: IPAddress, country_code: str = "") -> bool:
        """Return whether asking makes sense. ``country_code``: where others say that the address is, if they do."""
        if address.version not in self.families:
            return False
        return self.countries is None or not country_code or country_code in self.countries

    def built(self) -> datetime.date | None:
        """Return the day of the data; None if they have none, as those of a service. Raises :class:`GeoError`."""
        return None

    def version(self) -> str:
        """Return what changes when better data are there, at most 64 characters. Raises :class:`GeoError`."""
        day = self.built()
        return day.isoformat() if day else ""


class OfflineProvider(Provider):
    """A provider that knows one address at a time, so fast that nobody needs to wait for it."""

    batch_size = 1000

    @abstractmethod
    def lookup(self, address: IPAddress) -> GeoResult | None:
        """Return the place, or None if it is not known. Raises :class:`GeoError` if the provider is out of order."""

    def lookup_many(self, addresses: Sequence[IPAddress]) -> Answers:
        return Answers({address: self.lookup(address) if self.serves(address) else None for address in addresses})
