"""Paths without the secrets in them: links that reset a password, confirm an address, or open what is shared."""

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.urls import Resolver404, ResolverMatch, resolve

from django_locqueue.accesslog.conf import until_settings_change
from django_locqueue.accesslog.privacy.policy import current_policy
from django_locqueue.accesslog.privacy.secret_names import is_secret_part

MASK = "***"
NO_ROUTE = f"/{MASK}"  # of a path that no URL pattern matches
SHORTEST = 4  # characters of a secret that is replaced in the path; shorter ones may be anywhere in it
MOST = 513  # characters that are looked at: one more than a path's column holds

Secret = str | None  # None: in the path in a form that is not known


def secrets_in(match: ResolverMatch | None) -> tuple[Secret, ...]:
    """Return the parts of the path whose names say that they are secret. Never raises."""
    secrets: tuple[Secret, ...] = ()
    captured = match.captured_kwargs if match else None  # type: ignore[attr-defined]  # django-stubs lacks it
    if captured:
        for name in captured:
            if is_secret_part(name) and captured[name] is not None:
                secrets += (_as_written(captured[name]),)
    return secrets


def _as_written(value: Any) -> Secret:
    # Of any other type it was made by a converter of the project's, from a text that only that converter knows.
    return str(value)[:MOST] if isinstance(value, str | int | UUID) else None


def mask_path(path: str, route: str, secrets: Collection[Secret]) -> str:
    """Return the path with each secret replaced; where that cannot be done for sure, the URL pattern."""
    for secret in sorted(set(secrets), key=lambda each: len(each or ""), reverse=True):
        if secret is None or len(secret) < SHORTEST or secret not in path:
            return route_path(route)
        path = path.replace(secret, MASK)
    return path


def route_path(route: str) -> str:
    """Return the URL pattern as a path: ``/orders/<int:number>/``."""
    return f"/{route.removeprefix('^')}"


@until_settings_change
def own_path() -> Callable[[str], str]:
    """Return a function that says how a path of this site is shown where the request for it is not at hand.

    It resolves the path, for 10 to 50 µs, and remembers what was asked last.
    """
    as_route = current_policy().path_is_route

    @lru_cache(1024)
    def shown(path: str) -> str:
        try:
            match = resolve(path)
        except Resolver404:
            return NO_ROUTE if as_route else path
        except Exception:  # a converter of the project's
            return NO_ROUTE
        return route_path(match.route) if as_route else mask_path(path, match.route, secrets_in(match))

    return shown
