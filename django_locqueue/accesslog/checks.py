"""System checks: what is wrong with the access log's settings, before a request meets it."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.utils.module_loading import import_string

from django_locqueue.accesslog import visitor
from django_locqueue.accesslog.client_ip import UNIX, parse_network
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.privacy import policy
from django_locqueue.accesslog.rules import as_list
from django_locqueue.conf import place

MIDDLEWARE = "django_locqueue.accesslog.middleware.AccessLogMiddleware"

CHOICES = {
    "BACKEND": ("buffer", "sync", "logging", "null"),
    "OVERFLOW": ("drop_oldest", "drop_new", "spool"),
    "USER": visitor.CHOICES,
    "IP_STORAGE": policy.IP_STORAGE,
    "PATH": policy.PATH,
}
# Least and most of each number.
RANGES: Mapping[str, tuple[float, float]] = {
    "BUFFER_SIZE": (1, 10_000_000),
    "BATCH": (1, 10_000),
    "INTERVAL": (0.01, 3600),
    "EXIT_TIMEOUT": (0, 60),
    "PREFIX_V4": (8, 32),
    "PREFIX_V6": (16, 128),
}
QUEUE_NAME_LENGTH = 128  # what the queue takes
WHOLE = {"BUFFER_SIZE", "BATCH", "PREFIX_V4", "PREFIX_V6"}


LISTS = ("EXCLUDE_PATHS", "EXCLUDE_METHODS", "QUERY_PARAMS")


def setting(*keys: str) -> str:
    return place("LOCQUEUE", "ACCESS_LOG", *keys)


@register()
def check_access_log(**_: Any) -> list[CheckMessage]:
    return [*_middleware(), *_values(), *_trust()]


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


def _values() -> Iterator[CheckMessage]:
    for key, choices in CHOICES.items():
        value = getattr(access_log, key)
        if value not in choices:
            yield Error(
                f"{setting(key)} is {value!r}.",
                hint=f"Use one of {', '.join(map(repr, choices))}.{did_you_mean(value, choices)}",
                id="locqueue_accesslog.E001",
            )
    for key, (least, most) in RANGES.items():
        value = getattr(access_log, key)
        kinds = int if key in WHOLE else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            kind = "a whole number" if key in WHOLE else "a number"
            yield Error(
                f"{setting(key)} is {value!r}.",
                hint=f"Use {kind} from {least} to {most}.",
                id="locqueue_accesslog.E002",
            )
    if not isinstance(access_log.ENABLED, bool):
        yield Error(
            f"{setting('ENABLED')} is {access_log.ENABLED!r}.",
            hint="Use True or False; a text from the environment is true, whatever it says.",
            id="locqueue_accesslog.E012",
        )
    if problem := _queue_problem(access_log.QUEUE_NAME):
        yield Error(
            f"{setting('QUEUE_NAME')} {problem}, got {access_log.QUEUE_NAME!r}.",
            hint='Write the name of a queue that a worker serves; the default is "default".',
            id="locqueue_accesslog.E013",
        )
    for key in LISTS:
        value = getattr(access_log, key)
        if not isinstance(value, list | tuple | set | frozenset):
            yield no_list(setting(key), value)
    for entry in as_list(access_log.EXCLUDE_PATHS):
        if not isinstance(entry, str) or not (entry.startswith("/") or hasattr(settings, entry)):
            yield Error(
                f"{setting('EXCLUDE_PATHS')} contains {entry!r}, which is no path and no setting.",
                hint='Write a path ("/health"), a tree ("/static/"), or the name of a Django setting ("STATIC_URL").',
                id="locqueue_accesslog.E003",
            )
    yield from _action(access_log.ACTION)


def _queue_problem(name: Any) -> str | None:
    if not isinstance(name, str) or not name:
        return "must be a name"
    return (
        None
        if name.isprintable() and len(name) <= QUEUE_NAME_LENGTH
        else (f"must be at most {QUEUE_NAME_LENGTH} printable characters")
    )


def no_list(where: str, value: Any) -> CheckMessage:
    """Return the error of a setting that is no list."""
    written = f"[{value!r}]" if isinstance(value, str) else "a list"
    return Error(f"{where} must be a list, got {value!r}.", hint=f"Write {written}.", id="locqueue_accesslog.E014")


def _action(action: Any) -> Iterator[CheckMessage]:
    reason = ""
    if isinstance(action, str):
        try:
            action = import_string(action)
        except (Exception, SystemExit) as error:  # whatever the module does while it is imported
            reason = f" It cannot be imported: {error!r}."
    if action is not None and not callable(action):
        yield Error(
            f"{setting('ACTION')} is {action!r}.{reason}",
            hint="Use None, a function that takes (request, response) and returns a text, or its dotted path.",
            id="locqueue_accesslog.E004",
        )


def _trust() -> Iterator[CheckMessage]:
    proxies, count, header = access_log.TRUSTED_PROXIES, access_log.TRUSTED_PROXY_COUNT, access_log.IP_HEADER
    if proxies and count is not None:
        yield Error(
            f"Both {setting('TRUSTED_PROXIES')} and {setting('TRUSTED_PROXY_COUNT')} are set; they contradict.",
            hint="Keep the networks if you know them: they also stop clients that bypass the proxies.",
            id="locqueue_accesslog.E005",
        )
    for entry in as_list(proxies):
        network = parse_network(entry)
        if network is None and entry != UNIX:
            yield Error(
                f"{setting('TRUSTED_PROXIES')} contains {entry!r}, which is no network.",
                hint='Write networks such as "10.0.0.0/8" (host bits zero), addresses, or "unix:" for a socket file.',
                id="locqueue_accesslog.E006",
            )
        elif network is not None and network.prefixlen == 0:
            yield Warning(
                f"{setting('TRUSTED_PROXIES')} contains {entry!r}: every client is trusted to name its own address.",
                hint="List only the networks of your own proxies. Note that `uvicorn --forwarded-allow-ips '*'` has "
                "the same effect before Django sees the request.",
                id="locqueue_accesslog.W003",
            )
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
        yield Error(
            f"{setting('TRUSTED_PROXY_COUNT')} is {count!r}.",
            hint="Use the number of proxies that you run in front of the site, or None.",
            id="locqueue_accesslog.E007",
        )
    if not isinstance(header, str) or not header.startswith("HTTP_") or header != header.upper() or "-" in header:
        key = f"HTTP_{header}".upper().replace("-", "_")
        yield Error(
            f"{setting('IP_HEADER')} is {header!r}, which is no key of request.META.",
            hint=f'Write it as Django does: "{key}".',
            id="locqueue_accesslog.E008",
        )


def did_you_mean(value: Any, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(value), list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""
