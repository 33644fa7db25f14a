"""The providers of ``LOCQUEUE["ACCESS_LOG"]["GEO"]``, asked in order until one knows.

Files are asked at once; a service is only named, since that is a task of its own (see ``asking.py``).
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django_locqueue.accesslog.conf import geo, until_settings_change
from django_locqueue.accesslog.geo.countries import completed
from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.provider import Provider
from django_locqueue.accesslog.geo.registry import make
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress
from django_locqueue.accesslog.rules import as_list
from django_locqueue.accesslog.throttled import ThrottledLogger

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"), interval=3600)


@dataclass(slots=True)
class Found:
    """What a walk along the chain gave. ``services``: by name, the addresses that are to be asked there."""

    places: dict[IPAddress, GeoResult] = field(default_factory=dict)
    services: dict[str, list[IPAddress]] = field(default_factory=dict)
    unknown: list[IPAddress] = field(default_factory=list)


class Chain:
    """Providers in order. One that is out of order is passed over, with a log line an hour.

    ``is_whole``: no provider of the settings was left out, because it could not be had.
    """

    def __init__(self, providers: Sequence[Provider], *, is_whole: bool = True) -> None:
        self.providers = providers
        self.is_whole = is_whole
        self.services: Mapping[str, Provider] = {each.name: each for each in providers if not each.offline}

    def find(self, addresses: Iterable[IPAddress], behind: str = "") -> Found:
        """Ask the files in order; an address that no one knows before a service's turn comes is that service's.

        Answers are never mixed, but that each country has both its code and its name.
        ``behind``: the name of a provider; only those after it are asked.
        """
        found = Found(unknown=list(addresses))
        for provider in self.behind(behind):
            if not found.unknown:
                break
            served = self._served(provider, found.unknown)
            if not provider.offline:
                if served:
                    found.services[provider.name] = served
                    left = set(found.unknown).difference(served)
                    found.unknown = [each for each in found.unknown if each in left]
                continue
            known = self._ask(provider, served)
            found.places |= known
            found.unknown = [each for each in found.unknown if each not in known]
        return found

    def behind(self, name: str) -> Sequence[Provider]:
        """Return the providers after the one of this name; all for a name that there is not (any more)."""
        names = [provider.name for provider in self.providers]
        return self.providers[names.index(name) + 1 :] if name in names else self.providers

    def _served(self, provider: Provider, addresses: Sequence[IPAddress]) -> list[IPAddress]:
        """Return those addresses that it makes sense to ask the provider for."""
        countries = {} if provider.countries is None else self._countries_of(addresses)
        return [each for each in addresses if provider.serves(each, countries.get(each, ""))]

    def _countries_of(self, addresses: Sequence[IPAddress]) -> dict[IPAddress, str]:
        """Return the country codes that the files have, wherever in the chain they stand."""
        codes: dict[IPAddress, str] = {}
        for provider in self.providers:
            left = [each for each in addresses if each not in codes]
            if provider.offline and provider.countries is None and left:
                found = self._ask(provider, [each for each in left if provider.serves(each)])
                codes |= {address: place.country_code for address, place in found.items() if place.country_code}
        return codes

    def _ask(self, provider: Provider, addresses: Sequence[IPAddress]) -> dict[IPAddress, GeoResult]:
        """Return the places that a file knows."""
        found: dict[IPAddress, GeoResult] = {}
        for start in range(0, len(addresses), provider.batch_size):
            try:
                places = provider.lookup_many(addresses[start : start + provider.batch_size]).places
            except GeoError as error:
                logger.warning("IP locations: %s", error)
                break
            found |= {address: completed(place) for address, place in places.items() if place is not None}
        return found


@until_settings_change
def current_chain() -> Chain:
    """Return the chain of the present settings. A provider that cannot be had is left out, with a log line."""
    providers: dict[str, Provider] = {}
    is_whole = True
    for entry in as_list(geo("PROVIDERS")):
        try:
            provider = make(entry)
        except Exception as error:  # of a project's own class it may be any, and show the key; no hit is lost for it
            reason = error if isinstance(error, GeoError) else f"a provider cannot be made ({type(error).__name__})"
            logger.warning("IP locations: %s", reason)
            is_whole = False
        else:
            # Of two with one name the first: rows and rates go by the name, and the check has told.
            providers.setdefault(provider.name, provider)
    return Chain(list(providers.values()), is_whole=is_whole)
