"""Asks location services: a task for each, ``ask_amap`` and so on, one call at a time over all workers.

The settings say which services there are, so their definitions are made when somebody asks for their names.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from ipaddress import ip_address, ip_network
from typing import Any

from django_locqueue import ChunkCall, QueueFull, Snooze, Unique, task
from django_locqueue.accesslog.breaker import Breaker
from django_locqueue.accesslog.conf import access_log, geo, until_settings_change
from django_locqueue.accesslog.geo.chain import current_chain
from django_locqueue.accesslog.geo.countries import completed
from django_locqueue.accesslog.geo.errors import GeoError, ProviderDenied, QuotaExhausted, RateLimited, Transient
from django_locqueue.accesslog.geo.provider import Answers, Provider
from django_locqueue.accesslog.geo.rate import rate_of
from django_locqueue.accesslog.geo.result import GeoResult, IPAddress
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.networks import withdraw_requests
from django_locqueue.accesslog.places import write_failures, write_places
from django_locqueue.accesslog.prefix import first_address
from django_locqueue.accesslog.primary import primary

# Below the site's own tasks, and below the log of the visits.
LOCATE_PRIORITY = -20

PAUSE_SECONDS = 60.0  # of a service that says "too often" and not for how long: most count by the minute
DAY_SECONDS = 86_400.0
CHUNK_WAIT_SECONDS = 1.0
MOST_CALLS = 1000  # in a chunk
TIMEOUT_SECONDS = 180.0  # of a provider that has none of its own; one that hangs would hold up all that wait for it
JITTER = 0.1


def look_up(prefixes: Iterable[str], behind: str = "") -> list[str]:
    """Find the places of networks along the chain, behind the provider of this name; return those that no file knows.

    What files know is written. What is for a service to say becomes tasks.
    """
    networks = _by_address(prefixes)
    if not networks:
        return []
    found = current_chain().find(networks, behind)
    write_places({prefix: place for address, place in found.places.items() for prefix in networks[address]})
    for service, addresses in found.services.items():
        calls = [((), {"private_prefix": prefix}) for address in addresses for prefix in networks[address]]
        definition(service).enqueue_many(calls)
    return [prefix for address in found.unknown for prefix in networks[address]]


def definition(service: str) -> Any:
    """Return the task that asks a service of the present chain."""
    return _definitions()[_task_name(service)]


def __getattr__(name: str) -> Any:
    """Let a worker find a definition by its path."""
    if name.startswith("ask_") and (found := _definitions().get(name)) is not None:
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@until_settings_change
def _definitions() -> Mapping[str, Any]:
    return {_task_name(each.name): _define(each) for each in current_chain().services.values()}


def _task_name(service: str) -> str:
    """Return another name for each service: ``ask_ip_api`` for ip-api."""
    return "ask_" + re.sub("[^0-9A-Za-z]", lambda char: "_" if char[0] == "-" else f"_{ord(char[0]):x}_", service)


def _define(provider: Provider) -> Any:
    def ask(context: Any, calls: list[ChunkCall]) -> list[Any]:
        return _Asking(provider, context, calls).run()

    ask.__name__ = ask.__qualname__ = _task_name(provider.name)
    size = min(provider.batch_size, MOST_CALLS)
    return task(
        queue_name=access_log.QUEUE_NAME,
        priority=LOCATE_PRIORITY,
        takes_context=True,
        max_attempts=geo("MAX_ATTEMPTS"),
        timeout=TIMEOUT_SECONDS,
        keep_result=False,  # it stands in the location
        # Until it has finished: one that waits for a quota's midnight is not enqueued again with every visit.
        # Both names have the pages of tasks mask it: with a PREFIX_V4 of 32 it is an address.
        unique=Unique("secret={private_prefix}", until="finished"),
        chunk=size,
        chunk_wait=CHUNK_WAIT_SECONDS if size > 1 else 0.0,
        rate_limit=rate_of(provider.interval or geo("MIN_INTERVAL")),
        concurrency=1,  # a service that is slow takes one slot, and one call finds out whether it is well again
    )(ask)


class _Asking:
    """One run: a call of the service for some networks, and what comes of each."""

    def __init__(self, provider: Provider, context: Any, calls: Sequence[ChunkCall]) -> None:
        self.provider = provider
        self.context = context
        self.attempts = {str(call.kwargs["private_prefix"]): call.attempt for call in calls}
        self.breaker = Breaker(provider.name)
        self.errors: dict[str, Exception] = {}

    def run(self) -> list[Exception | None]:
        """Return for each network what its task ends with; None: nothing is left to be asked of this service."""
        if self.breaker.seconds:
            self.context.return_rate()  # nobody is called
            self._pass_on()
        else:
            self._call()
        return [self.errors.get(prefix) for prefix in self.attempts]

    def _call(self) -> None:
        networks = _by_address(self.attempts, self._address)
        try:
            answers = self.provider.lookup_many(list(networks))
        except RateLimited as error:
            self._pause(error.retry_after or PAUSE_SECONDS)
            self._wait(self.attempts, error.retry_after or PAUSE_SECONDS)
        except QuotaExhausted as error:
            self.breaker.exhaust(str(error), error.retry_after or DAY_SECONDS)
            self._pass_on()
        except ProviderDenied as error:
            self.breaker.deny(str(error))
            self._pass_on()
        except GeoError as error:
            self.breaker.fail(str(error))
            self._try_again(self.attempts, error)
        else:
            self.breaker.succeed()
            if answers.pause:
                self._pause(answers.pause)
            self._take(answers, networks)

    def _take(self, answers: Answers, networks: Mapping[IPAddress, Sequence[str]]) -> None:
        """Write what was answered. What this service does not know may be known behind it in the chain."""
        known: dict[str, GeoResult] = {}
        unknown: list[str] = []
        unanswered: list[str] = []
        for address, prefixes in networks.items():
            if address not in answers.places:
                unanswered += prefixes
            elif (place := answers.places[address]) is None:
                unknown += prefixes
            else:
                known |= dict.fromkeys(prefixes, completed(place))
        write_places(known)
        write_places(dict.fromkeys(self._ask_behind(unknown)))
        if unanswered:
            self._try_again(unanswered, Transient(f"{self.provider.name} left addresses out of its answer."))

    def _pass_on(self) -> None:
        """Ask those behind it in the chain. What they do not know waits for this service, but if it has shut us out."""
        left = self._ask_behind(self.attempts)
        if self.breaker.is_denied:
            write_failures(left)
            return
        if not current_chain().behind(self.provider.name):
            self._pause(self.breaker.seconds)  # those that wait for their turn need not come and see
        self._wait(left, self.breaker.seconds)

    def _ask_behind(self, prefixes: Collection[str]) -> list[str]:
        """Ask those behind this service in the chain; return what they do not know.

        Where the queue is full, the next visit from there begins anew: failing here would charge an attempt, and have
        the service asked again, for those too of which it has told the place.
        """
        try:
            return look_up(prefixes, behind=self.provider.name)
        except QueueFull:
            withdraw_requests(prefixes)
            return []

    def _try_again(self, prefixes: Collection[str], error: GeoError) -> None:
        """Let the queue ask again for these. Of those at their last attempt those behind it in the chain are asked."""
        given_up = [prefix for prefix in prefixes if self.attempts[prefix] >= geo("MAX_ATTEMPTS")]
        failed = self._ask_behind(given_up)
        write_failures(failed)
        again = set(prefixes).difference(given_up)
        self.errors |= dict.fromkeys([*again, *failed], error)

    def _wait(self, prefixes: Iterable[str], seconds: float) -> None:
        """Let these come again; no attempt is charged."""
        for prefix in prefixes:
            self.errors[prefix] = Snooze(seconds * random.uniform(1, 1 + JITTER))

    def _pause(self, seconds: float) -> None:
        with suppress(ValueError):  # the backends of tests run calls at once, without a rate
            self.context.pause_rate(seconds)

    def _address(self, prefix: str) -> IPAddress:
        """Return what the service is shown of a network: its first address, or that of some visitor from there."""
        if not geo("SEND_TRUNCATED"):
            log = primary(AccessLog)
            for ip in log.filter(location=prefix).exclude(ip=None).values_list("ip", flat=True)[:1]:
                address = ip_address(str(ip))
                if address in ip_network(prefix):  # a pseudonym is in none but that of all pseudonyms
                    return address
        return first_address(prefix)


def _by_address(
    prefixes: Iterable[str], address: Callable[[str], IPAddress] = first_address
) -> dict[IPAddress, list[str]]:
    networks: dict[IPAddress, list[str]] = defaultdict(list)
    for prefix in prefixes:
        with suppress(ValueError):  # no network: somebody has edited the row
            networks[address(prefix)].append(prefix)  # two may begin alike: PREFIX_V4 was another before
    return networks
