"""System check of ``EXCLUDE_VIEWS``: whether there are such views."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Warning, register
from django.urls import URLPattern, URLResolver, get_resolver

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.kinds import guess, setting
from django_locqueue.accesslog.rules import as_list


@register()
def check_views(**_: Any) -> list[CheckMessage]:
    return list(_views())


def _views() -> Iterator[CheckMessage]:
    # A view without a name of its own goes by its path.
    wanted = [name for name in as_list(access_log.EXCLUDE_VIEWS) if isinstance(name, str) and "." not in name]
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
                hint=f"With namespaces it is written as in reverse().{guess(name, known)}",
                id="locqueue_accesslog.W020",
            )


def url_names(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    """Yield the names of all URLs, with their namespaces, as ``request.resolver_match.view_name`` gives them."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from url_names(pattern, f"{prefix}{pattern.namespace}:" if pattern.namespace else prefix)
        elif isinstance(pattern, URLPattern) and pattern.name:
            yield prefix + str(pattern.name)
