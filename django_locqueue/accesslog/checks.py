"""System checks: what is wrong with the access log's settings, before a request meets it."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from django_locqueue.accesslog import signed_in
from django_locqueue.accesslog.client_ip import UNIX, parse_network
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.kinds import Kind, a_list, function, number, one_of, setting, truth, unless, wrong_values
from django_locqueue.accesslog.privacy import policy
from django_locqueue.accesslog.rules import as_list

MIDDLEWARE = "django_locqueue.accesslog.middleware.AccessLogMiddleware"
QUEUE_NAME_LENGTH = 128  # what the queue takes
MOST_DAYS = 36_500


def _is_queue_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= QUEUE_NAME_LENGTH and value.isprintable()


def _is_header(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("HTTP_") and value == value.upper() and "-" not in value


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and (value.startswith("/") or hasattr(settings, value))


def _is_status(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599


def _is_parameter(value: Any) -> bool:
    return isinstance(value, str) and value != "" and "*" not in value[:-1]


_methods = a_list("E020")
_days = number("E043", 1, MOST_DAYS, "a whole number of days", none="to keep all for ever")

KINDS = {
    "ENABLED": truth("E012"),
    "BACKEND": one_of("E001", "buffer", "sync", "logging", "null"),
    "EXCLUDE_PATHS": a_list("E014"),
    "EXCLUDE_VIEWS": a_list("E020"),
    "EXCLUDE_STATUS": a_list("E020"),
    "METHODS": Kind("E020", lambda value: "" if value is None else _methods.problem(value), _methods.hint),
    "EXCLUDE_METHODS": a_list("E014"),
    "FILTER": function("E026", "(request, response) and returns False for what is left out"),
    "BOTS": one_of("E027", "flag", "skip", "same"),
    "SAMPLE_RATE": number("E024", 0, 1, "a number, such as 0.1 for one in ten,"),
    "SLOW_MS": number("E025", 0),
    "USER": one_of("E001", *signed_in.CHOICES),
    "ACTION": function("E004", "(request, response) and returns a text"),
    "MEASURE_STREAMING": truth("E028"),
    "QUERY_PARAMS": a_list("E014"),
    "PATH": one_of("E001", *policy.PATH),
    "IP_STORAGE": one_of("E001", *policy.IP_STORAGE),
    "RESPECT_GPC": truth("E040"),
    "RESPECT_DNT": truth("E040"),
    "TRUSTED_PROXY_COUNT": number("E007", 0, what="a whole number of proxies", none="if you know their networks"),
    "IP_HEADER": Kind(
        "E008",
        unless(_is_header, "is {!r}, which is no key of request.META"),
        lambda value: f'Write it as Django does: "{f"HTTP_{value}".upper().replace("-", "_")}".',
    ),
    "CLIENT_IP": function("E026", "(request)"),
    "PREFIX_V4": number("E002", 8, 32, "a whole number"),
    "PREFIX_V6": number("E002", 16, 128, "a whole number"),
    "BUFFER_SIZE": number("E002", 1, 10_000_000, "a whole number"),
    "BATCH": number("E002", 1, 10_000, "a whole number"),
    "INTERVAL": number("E002", 0.01, 3600),
    "EXIT_TIMEOUT": number("E002", 0, 60),
    "OVERFLOW": one_of("E001", "drop_oldest", "drop_new", "spool"),
    "QUEUE_NAME": Kind(
        "E013",
        unless(_is_queue_name, f"must be a name of at most {QUEUE_NAME_LENGTH} printable characters, got {{!r}}"),
        'Write the name of a queue that a worker serves; the default is "default".',
    ),
    "RETENTION_DAYS": _days,
    "ROLLUP_RETENTION_DAYS": _days,
}
ENTRIES = {
    "EXCLUDE_PATHS": Kind(
        "E003",
        unless(_is_path, "contains {!r}, which is no path and no setting"),
        'Write a path ("/health"), a tree ("/static/"), or the name of a Django setting ("STATIC_URL").',
    ),
    "EXCLUDE_VIEWS": Kind(
        "E023",
        unless(lambda value: isinstance(value, str), "contains {!r}, which is no name of a URL"),
        'Write names as url() and reverse() take them: "health", "admin:index".',
    ),
    "EXCLUDE_STATUS": Kind(
        "E022", unless(_is_status, "contains {!r}, which is no HTTP status"), "Write numbers: 404, 304, …"
    ),
    "METHODS": Kind(
        "E021",
        unless(lambda value: isinstance(value, str) and value.isalpha(), "contains {!r}, which is no HTTP method"),
        'Write "GET", "POST", …',
    ),
    "QUERY_PARAMS": Kind(
        "E041",
        unless(_is_parameter, "contains {!r}, which is no name of a parameter"),
        'Write names ("q"), or beginnings of names with a star at the end ("utm_*").',
    ),
    "TRUSTED_PROXIES": Kind(
        "E006",
        unless(lambda value: value == UNIX or parse_network(value) is not None, "contains {!r}, which is no network"),
        'Write networks such as "10.0.0.0/8" (host bits zero), addresses, or "unix:" for a socket file.',
    ),
}


@register()
def check_access_log(**_: Any) -> list[CheckMessage]:
    values = wrong_values(KINDS, ENTRIES, lambda key: getattr(access_log, key))
    return [*_middleware(), *values, *_trust()]


def _middleware() -> Iterator[CheckMessage]:
    if not access_log.ENABLED:
        return
    installed = list(settings.MIDDLEWARE)
    if MIDDLEWARE not in installed:
        yield Warning(
            "The access log is installed but records nothing: its middleware is missing.",
            hint=f'Put "{MIDDLEWARE}" first in MIDDLEWARE, or set {setting("ENABLED")} to False.',
            id="locqueue_accesslog.W001",
        )
    elif installed[0] != MIDDLEWARE:
        yield Warning(
            f"AccessLogMiddleware is number {installed.index(MIDDLEWARE) + 1} in MIDDLEWARE. It does not see what the "
            "middlewares before it answer, nor the time they take.",
            hint=f'Put "{MIDDLEWARE}" first in MIDDLEWARE.',
            id="locqueue_accesslog.W002",
        )
    if installed.count(MIDDLEWARE) > 1:
        yield Warning(
            f"AccessLogMiddleware stands {installed.count(MIDDLEWARE)} times in MIDDLEWARE: "
            "each request is recorded as often.",
            hint="Keep the first.",
            id="locqueue_accesslog.W005",
        )


def _trust() -> Iterator[CheckMessage]:
    proxies, count = access_log.TRUSTED_PROXIES, access_log.TRUSTED_PROXY_COUNT
    if proxies and count is not None:
        yield Error(
            f"Both {setting('TRUSTED_PROXIES')} and {setting('TRUSTED_PROXY_COUNT')} are set; they contradict.",
            hint="Keep the networks if you know them: they also stop clients that bypass the proxies.",
            id="locqueue_accesslog.E005",
        )
    if not proxies and count is None and access_log.CLIENT_IP is None and "IP_HEADER" in access_log.given:
        yield Warning(
            f"{setting('IP_HEADER')} is set, but no proxy is trusted: the header is not read, and the address of the "
            "proxy is taken for that of every visitor.",
            hint=f"Name your proxies in {setting('TRUSTED_PROXIES')}, or their number in "
            f"{setting('TRUSTED_PROXY_COUNT')}.",
            id="locqueue_accesslog.W006",
        )
    for entry in as_list(proxies):
        network = parse_network(entry)
        if network is not None and network.prefixlen == 0:
            yield Warning(
                f"{setting('TRUSTED_PROXIES')} contains {entry!r}: every client is trusted to name its own address.",
                hint="List only the networks of your own proxies. Note that `uvicorn --forwarded-allow-ips '*'` has "
                "the same effect before Django sees the request.",
                id="locqueue_accesslog.W003",
            )
    if access_log.CLIENT_IP is not None and (proxies or count is not None):
        yield Warning(
            f"{setting('CLIENT_IP')} is set, so {setting('TRUSTED_PROXIES')} and {setting('TRUSTED_PROXY_COUNT')} "
            "are not used.",
            hint="Keep the one that you mean.",
            id="locqueue_accesslog.W021",
        )
