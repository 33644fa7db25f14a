"""What is recorded of which request: the settings, compiled once so that a request only compares."""

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from django_locqueue.accesslog import hit as limits
from django_locqueue.accesslog.bots import is_bot
from django_locqueue.accesslog.client_ip import Trust
from django_locqueue.accesslog.conf import access_log, until_settings_change
from django_locqueue.accesslog.privacy.policy import PrivacyPolicy, current_policy
from django_locqueue.accesslog.signed_in import IF_LOADED
from django_locqueue.accesslog.throttled import ThrottledLogger

SERVER_ERROR = 500

logger = logging.getLogger("django_locqueue.accesslog")
throttled = ThrottledLogger(logger)  # for what may go wrong with every request


@dataclass(frozen=True, slots=True)
class Sample:
    """``rate``: the share that is kept, from 0 to 1. ``slow``: seconds from which a request is kept in any case."""

    rate: float
    slow: float

    def weight(self, status: int, duration: float) -> float:
        """Return how many requests a hit stands for; 0 for one that is left out. ``duration``: seconds.

        What went wrong or was slow is always kept and stands for itself, so sums of weights estimate all requests.
        """
        if status >= SERVER_ERROR or duration >= self.slow:
            return 1.0
        return 1 / self.rate if random.random() < self.rate else 0.0


@dataclass(frozen=True, slots=True)
class Exclusions:
    """``only_methods``: None for all. ``views``: URL names. ``filter``: None, or the project's function."""

    only_methods: frozenset[str] | None = None
    views: frozenset[str] = frozenset()
    statuses: frozenset[int] = frozenset()
    bots: bool = False
    filter: Callable[..., Any] | None = None

    def __bool__(self) -> bool:
        return self != NONE

    def cover(self, request: HttpRequest, response: HttpResponseBase | None, status: int) -> bool:
        """Whether the request is left out. ``response``: None if there is none."""
        if self.only_methods is not None and request.method not in self.only_methods:
            return True
        match = request.resolver_match
        if status in self.statuses or (match and match.view_name in self.views):
            return True
        if self.bots and is_bot(limits.exact_text(request.META.get("HTTP_USER_AGENT"))[: limits.USER_AGENT_LENGTH]):
            return True
        if self.filter is None:
            return False
        try:
            return self.filter(request, response) is False
        except Exception:  # the project's code; a line too many is better than one too few
            throttled.failure('LOCQUEUE["ACCESS_LOG"]["FILTER"] raised; the request is recorded.')
            return False


NONE = Exclusions()


@dataclass(frozen=True, slots=True)
class Rules:
    """``paths`` are excluded exactly, ``trees`` with all that is below them.

    ``exclusions`` and ``sample`` are None where there is nothing of the kind.
    """

    enabled: bool
    direct: bool
    paths: frozenset[str]
    trees: tuple[str, ...]
    methods: frozenset[str]
    exclusions: Exclusions | None
    sample: Sample | None
    user: str
    action: Callable[..., Any] | None
    client_ip: Callable[..., Any] | None
    measure_streaming: bool
    trust: Trust
    header: str  # the META key of the proxies' header; nothing if no proxy is trusted
    forwarded_host: bool  # a proxy says which host the visitor asked for
    is_plain: bool  # a hit is ready when it is captured: nothing is asked, measured or waited for afterwards
    policy: PrivacyPolicy
    is_usual: bool = field(init=False)  # nothing is set for which a request would have to be looked at further

    def __post_init__(self) -> None:
        further = (self.exclusions, self.sample, self.action, self.client_ip, self.header, self.forwarded_host)
        private = self.policy.path_is_route or self.policy.parameters
        object.__setattr__(self, "is_usual", self.enabled and not private and not any(further))

    def measures(self, request: HttpRequest, response: HttpResponseBase | None) -> bool:
        """Whether a hit waits for the end of the body."""
        return self.measure_streaming and bool(getattr(response, "streaming", False)) and request.method != "HEAD"


@until_settings_change
def current_rules() -> Rules:
    """Return the rules of the present settings."""
    trust = Trust.parse(access_log.TRUSTED_PROXIES, access_log.TRUSTED_PROXY_COUNT, access_log.IP_HEADER)
    paths = [path for path in map(resolve_path, as_list(access_log.EXCLUDE_PATHS)) if path]
    client_ip = resolve_callable("CLIENT_IP", "no address is recorded", otherwise=no_address)
    if client_ip is not None:
        trust = Trust()  # what it returns is the address, and is read as a socket's
    exclusions = Exclusions(
        only_methods=None if access_log.METHODS is None else method_set(access_log.METHODS),
        views=frozenset(map(str, as_list(access_log.EXCLUDE_VIEWS))),
        statuses=frozenset(status for status in as_list(access_log.EXCLUDE_STATUS) if isinstance(status, int)),
        bots=access_log.BOTS == "skip",
        filter=resolve_callable("FILTER", "nothing is filtered"),
    )
    rate = float(access_log.SAMPLE_RATE)
    return Rules(
        enabled=bool(access_log.ENABLED) and access_log.BACKEND != "null",
        direct=access_log.BACKEND == "sync",
        paths=frozenset(path for path in paths if not path.endswith("/")),
        trees=tuple(path for path in paths if path.endswith("/")),
        methods=method_set(access_log.EXCLUDE_METHODS),
        exclusions=exclusions or None,
        sample=None if rate >= 1 else Sample(rate, float(access_log.SLOW_MS) / 1000),
        user=access_log.USER,
        action=resolve_callable("ACTION", "URL names are used"),
        client_ip=client_ip,
        measure_streaming=bool(access_log.MEASURE_STREAMING),
        trust=trust,
        header="" if trust.is_empty else trust.header,
        forwarded_host=settings.USE_X_FORWARDED_HOST,
        is_plain=access_log.USER == IF_LOADED and access_log.BACKEND != "sync" and not access_log.MEASURE_STREAMING,
        policy=current_policy(),
    )


def as_list(value: Any) -> list[Any]:
    """Return the entries of a setting; a text is one entry, though Python could walk its letters."""
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [] if value is None else [value]


def method_set(value: Any) -> frozenset[str]:
    return frozenset(str(method).upper() for method in as_list(value))


def resolve_path(entry: str) -> str | None:
    """Return the path that an entry of ``EXCLUDE_PATHS`` stands for; None if it stands for none of this site's."""
    if entry.startswith("/"):
        return entry
    path = getattr(settings, entry, None)
    # An unset MEDIA_URL reads as "/", which would exclude the whole site; one on another host is never requested here.
    return path if isinstance(path, str) and path.startswith("/") and path != script_root() else None


def script_root() -> str:
    """Return the path that the site is mounted on, with a slash at its end."""
    from django.urls import get_script_prefix

    return get_script_prefix()


def no_address(request: HttpRequest) -> None:
    return None


def resolve_callable(
    key: str, consequence: str, otherwise: Callable[..., Any] | None = None
) -> Callable[..., Any] | None:
    """Return the project's function of a setting; None if none is set.

    One that cannot be had is ``otherwise``, with a log line that tells the consequence.
    """
    given = getattr(access_log, key)
    if isinstance(given, str):
        try:
            given = import_string(given)
        except (Exception, SystemExit):  # a module can do anything while it is imported, and leave is one of it
            logger.warning(
                'LOCQUEUE["ACCESS_LOG"]["%s"]: %r cannot be imported; %s.', key, given, consequence, exc_info=True
            )
            return otherwise
    function: Callable[..., Any] | None = given if given is None or callable(given) else otherwise
    return function
