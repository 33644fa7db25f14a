"""The user of a request, found without making the page slower or uncacheable.

Reading ``request.user`` loads the session: two queries on every page, and inside other middlewares
``Vary: Cookie``, which ends shared caching. So by default only a user that the view loaded is seen.
"""

from typing import Any

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest
from django.utils.functional import LazyObject

IF_LOADED = "if_loaded"
SESSION = "session"
ALWAYS = "always"
CHOICES = (IF_LOADED, SESSION, ALWAYS)


def loaded_user_id(request: HttpRequest) -> Any:
    """Return the primary key of the user that something already loaded, else None. No query."""
    known = request.__dict__
    for name in ("_cached_user", "_acached_user"):  # where AuthenticationMiddleware keeps it, sync and async
        if name in known and (key := getattr(known[name], "pk", None)) is not None:
            return key
    # What login() and REST framework put in place of the lazy user.
    user = known.get("user")
    return None if user is None or isinstance(user, LazyObject) else getattr(user, "pk", None)


def user_id(request: HttpRequest, mode: str) -> Any:
    """Return the user's primary key after ``LOCQUEUE["ACCESS_LOG"]["USER"]``, or None. May query, and raise for it."""
    key = loaded_user_id(request)
    if key is not None or mode == IF_LOADED:
        return key
    if mode == SESSION:
        session = getattr(request, "session", None)
        return None if session is None else session.get(SESSION_KEY)
    return getattr(getattr(request, "user", None), "pk", None)


async def auser_id(request: HttpRequest, mode: str) -> Any:
    """``user_id`` on an event loop."""
    key = loaded_user_id(request)
    if key is not None or mode == IF_LOADED:
        return key
    if mode == SESSION:
        session = getattr(request, "session", None)
        return None if session is None else await session.aget(SESSION_KEY)
    auser = getattr(request, "auser", None)
    return None if auser is None else getattr(await auser(), "pk", None)
