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
    is_packaged = False  # its data came with a package: only another release has newer ones
    families: frozenset[int] = frozenset({4, 6})  # IP versions
    countries: frozenset[str] | None = None  # the only ones it knows, as ISO codes; None: the world

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

    def attributions(self) -> Sequence[Attribution]:
        """Return who wants to be named where the places are shown. Raises :class:`GeoError`."""
        return ()

    def built(self) -> Sequence[datetime.date]:
        """Return the day of each file of data; nothing for a service. Raises :class:`GeoError` if one is damaged."""
        return ()

    def version(self) -> str:
        """Return what is another when there are other data, of at most 64 characters. Raises :class:`GeoError`."""
        return " ".join(sorted({day.isoformat() for day in self.built()}))[-64:]


class OfflineProvider(Provider):
    """A provider that knows one address at a time, so fast that nobody needs to wait for it."""

    batch_size = 1000

    @abstractmethod
    def lookup(self, address: IPAddress) -> GeoResult | None:
        """Return the place, or None if it is not known. Raises :class:`GeoError` if the provider is out of order."""

    def lookup_many(self, addresses: Sequence[IPAddress]) -> Answers:
        return Answers({address: self.lookup(address) if self.serves(address) else None for address in addresses})
