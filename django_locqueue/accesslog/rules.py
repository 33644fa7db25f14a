"""What is recorded of which request: the settings, compiled once so that a request only compares."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.module_loading import import_string

from django_locqueue.accesslog.client_ip import Trust
from django_locqueue.accesslog.conf import access_log, until_settings_change

logger = logging.getLogger("django_locqueue.accesslog")


@dataclass(frozen=True, slots=True)
class Rules:
    """``paths`` are excluded exactly, ``trees`` with all that is below them."""

    enabled: bool
    direct: bool
    paths: frozenset[str]
    trees: tuple[str, ...]
    methods: frozenset[str]
    user: str
    action: Callable[..., Any] | None
    trust: Trust
    header: str  # the META key of the proxies' header; nothing if no proxy is trusted

    def wants(self, request: HttpRequest) -> bool:
        """Whether the request is recorded."""
        path = request.path
        return (
            self.enabled
            and path not in self.paths
            and not path.startswith(self.trees)
            and request.method not in self.methods
        )


@until_settings_change
def current_rules() -> Rules:
    """Return the rules of the present settings."""
    trust = Trust.parse(access_log.TRUSTED_PROXIES, access_log.TRUSTED_PROXY_COUNT, access_log.IP_HEADER)
    paths = [path for path in map(resolve_path, as_list(access_log.EXCLUDE_PATHS)) if path]
    return Rules(
        enabled=bool(access_log.ENABLED) and access_log.BACKEND != "null",
        direct=access_log.BACKEND == "sync",
        paths=frozenset(path for path in paths if not path.endswith("/")),
        trees=tuple(path for path in paths if path.endswith("/")),
        methods=frozenset(str(method).upper() for method in as_list(access_log.EXCLUDE_METHODS)),
        user=access_log.USER,
        action=resolve_action(access_log.ACTION),
        trust=trust,
        header="" if trust.is_empty else trust.header,
    )


def as_list(value: Any) -> list[Any]:
    """Return the entries of a setting; a text is one entry, though Python could walk its letters."""
    return list(value) if isinstance(value, list | tuple | set | frozenset) else [] if value is None else [value]


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


def resolve_action(given: Any) -> Callable[..., Any] | None:
    """Return the callable that names actions; None for the default, or, with a log line, if it cannot be had."""
    if isinstance(given, str):
        try:
            given = import_string(given)
        except (Exception, SystemExit):  # a module can do anything while it is imported, and leave is one of it
            logger.warning(
                'LOCQUEUE["ACCESS_LOG"]["ACTION"]: %r cannot be imported; URL names are used.', given, exc_info=True
            )
            return None
    return given if callable(given) else None
