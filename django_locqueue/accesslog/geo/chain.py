"""The providers of ``LOCQUEUE["ACCESS_LOG"]["GEO"]``, asked in order until one knows."""

import logging
from collections.abc import Sequence
from threading import Lock

from django_locqueue.accesslog.conf import geo, until_settings_change
from django_locqueue.accesslog.geo.countries import SAMPLE, Countries
from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.iptocc import Iptocc
from django_locqueue.accesslog.geo.provider import OfflineProvider
from django_locqueue.accesslog.geo.registry import make
from django_locqueue.accesslog.geo.reserved import Reserved
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress
from django_locqueue.accesslog.geo.xdb import Xdb
from django_locqueue.accesslog.throttled import ThrottledLogger

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"), interval=3600)


class Chain:
    """Providers in order. One that is out of order is passed over, with a log line an hour."""

    def __init__(self, providers: Sequence[OfflineProvider]) -> None:
        self.providers = providers
        self._countries: Countries | None = None
        self._lock = Lock()

    def lookup(self, address: IPAddress) -> GeoResult | None:
        """Return what the first provider that knows says; None if nobody knows.

        Answers are never mixed, but that a country gets the code or the name that the other provider has for it.
        """
        for provider in self.providers:
            try:
                result = provider.lookup(address)
            except GeoError as error:
                logger.warning("IP locations: %s", error)
                continue
            if result is not None:
                return self._complete(result)
        return None

    def _complete(self, result: GeoResult) -> GeoResult:
        if result.is_reserved or (result.country and result.country_code):
            return result
        with self._lock:
            if self._countries is None:
                self._countries = self._compare()
        return self._countries.complete(result)

    def _compare(self) -> Countries:
        named = next((provider for provider in self.providers if isinstance(provider, Xdb)), None)
        coded = next((provider for provider in self.providers if isinstance(provider, Iptocc)), None)
        if named is None or coded is None:
            return Countries((), Reserved())
        try:
            return Countries(named.sample(SAMPLE), coded)
        except GeoError as error:
            logger.warning("IP locations: %s", error)
            return Countries((), Reserved())


@until_settings_change
def current_chain() -> Chain:
    """Return the chain of the present settings. A provider that cannot be had is left out, with a log line."""
    providers = []
    for entry in geo("PROVIDERS"):
        try:
            provider = make(entry)
        except GeoError as error:
            logger.warning("IP locations: %s", error)
        else:
            if isinstance(provider, OfflineProvider):
                providers.append(provider)
    return Chain(providers)
