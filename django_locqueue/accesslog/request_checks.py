"""System checks of the settings that say which requests are recorded, and what of them."""

from collections.abc import Callable, Iterator
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.module_loading import import_string

from django_locqueue.accesslog.checks import did_you_mean, setting
from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.rules import as_list

BOTS = ("flag", "skip", "same")
LISTS = ("EXCLUDE_VIEWS", "EXCLUDE_STATUS", "METHODS")
CALLABLES = {"FILTER": "(request, response) and returns False for what is left out", "CLIENT_IP": "(request)"}


@register()
def check_requests(**_: Any) -> list[CheckMessage]:
    return [*_lists(), *_sample(), *_callables(), *_bots(), *_streaming()]


def _lists() -> Iterator[CheckMessage]:
    for key in LISTS:
        value = getattr(access_log, key)
        if not isinstance(value, list | tuple | set | frozenset) and not (key == "METHODS" and value is None):
            yield _error(20, key, value, "must be a list", f"Write {[value] if value is not None else []!r}.")
    for entry in as_list(access_log.METHODS):
        if not isinstance(entry, str) or not entry.isalpha():
            yield _error(21, "METHODS", entry, "must contain names of HTTP methods", 'Write "GET", "POST", …')
    for entry in as_list(access_log.EXCLUDE_STATUS):
        if isinstance(entry, bool) or not isinstance(entry, int) or not 100 <= entry <= 599:
            yield _error(22, "EXCLUDE_STATUS", entry, "must contain HTTP statuses", "Write numbers: 404, 304, …")
    yield from _views()


def _views() -> Iterator[CheckMessage]:
    names = as_list(access_log.EXCLUDE_VIEWS)
    for entry in names:
        if not isinstance(entry, str):
            hint = 'Write names as url() and reverse() take them: "health", "admin:index".'
            yield _error(23, "EXCLUDE_VIEWS", entry, "must contain names of URLs", hint)
    # A view without a name of its own goes by its path.
    wanted = [name for name in names if isinstance(name, str) and "." not in name]
    if not wanted or not getattr(settings, "ROOT_URLCONF", None):
        return
    try:
        known = set(url_names(get_resolver()))
    except Exception:  # Django's own check says what is wrong with the URLs
        return
    for name in wanted:
        if name not in known:
            yield Warning(
                f"{setting('EXCLUDE_VIEWS')} contains {name!r}, and no URL has that name.",
                hint=f"With namespaces it is written as in reverse().{did_you_mean(name, known)}",
                id="locqueue_accesslog.W020",
            )


def url_names(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    """Yield the names of all URLs, with their namespaces, as ``request.resolver_match.view_name`` gives them."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from url_names(pattern, f"{prefix}{pattern.namespace}:" if pattern.namespace else prefix)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield prefix + str(pattern.name)


def _sample() -> Iterator[CheckMessage]:
    rate, slow = access_log.SAMPLE_RATE, access_log.SLOW_MS
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        yield _error(24, "SAMPLE_RATE", rate, "must be a share", "Write a number from 0 to 1: 0.1 keeps one in ten.")
    if isinstance(slow, bool) or not isinstance(slow, int | float) or not slow >= 0:
        yield _error(25, "SLOW_MS", slow, "must be milliseconds", "Write a number, 0 or more.")


def _callables() -> Iterator[CheckMessage]:
    for key, signature in CALLABLES.items():
        given = getattr(access_log, key)
        if problem := _problem(given):
            hint = f"Use None, a plain function that takes {signature}, or its dotted path."
            yield _error(26, key, given, problem, hint)
    proxies = access_log.TRUSTED_PROXIES or access_log.TRUSTED_PROXY_COUNT is not None
    if access_log.CLIENT_IP is not None and proxies:
        yield Warning(
            f"{setting('CLIENT_IP')} is set, so {setting('TRUSTED_PROXIES')} and {setting('TRUSTED_PROXY_COUNT')} "
            "are not used.",
            hint="Keep the one that you mean.",
            id="locqueue_accesslog.W021",
        )


def _problem(given: str | Callable[..., Any] | None) -> str | None:
    if isinstance(given, str):
        try:
            given = import_string(given)
        except (Exception, SystemExit) as error:  # whatever the module does while it is imported
            return f"cannot be imported ({error!r})"
    if given is not None and not callable(given):
        return "must be a function"
    # Its coroutine would be taken for an answer.
    return "must be a plain function, since it is called without being awaited" if iscoroutinefunction(given) else None


def _bots() -> Iterator[CheckMessage]:
    if access_log.BOTS not in BOTS:
        hint = f"{', '.join(BOTS)}.{did_you_mean(access_log.BOTS, BOTS)}"
        yield _error(27, "BOTS", access_log.BOTS, "must be one of three words", hint)


def _streaming() -> Iterator[CheckMessage]:
    if not isinstance(access_log.MEASURE_STREAMING, bool):
        hint = "Use True or False; a text from the environment is true, whatever it says."
        yield _error(28, "MEASURE_STREAMING", access_log.MEASURE_STREAMING, "must be a truth value", hint)


def _error(number: int, key: str, value: Any, problem: str, hint: str) -> CheckMessage:
    return Error(f"{setting(key)} {problem}, got {value!r}.", hint=hint, id=f"locqueue_accesslog.E{number:03}")
