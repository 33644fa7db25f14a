"""Who may see the numbers: a program that has a token, or a person who may see tasks in admin."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from django_locqueue import conf

View = Callable[[HttpRequest], HttpResponseBase]


def for_tokens(*keys: str) -> Callable[[View], View]:
    """Let in who sends one of these tokens of ``LOCQUEUE["MONITORING"]`` as a bearer, and who may see tasks in admin.

    The token is looked at first, so that a probe is answered also while the database of the sessions is away.
    """

    def guard(view: View) -> View:
        # A project's LoginRequiredMiddleware would send a probe to the login page.
        @login_not_required
        @never_cache  # also says no-store
        @require_safe
        @wraps(view)
        def guarded(request: HttpRequest) -> HttpResponseBase:
            if _has_token(request, keys) or _may_see(request):
                return view(request)
            if _is_signed_in(request):
                return HttpResponse("You may not see tasks (locqueue.view_task).\n", "text/plain", 403)
            names = " or ".join(keys)
            refused = HttpResponse(f'Send one of the tokens in LOCQUEUE["MONITORING"]: {names}.\n', "text/plain", 401)
            refused["WWW-Authenticate"] = 'Bearer realm="django-locqueue"'
            return refused

        return guarded

    return guard


def _has_token(request: HttpRequest, keys: Iterable[str]) -> bool:
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return False
    tokens = [getattr(conf.monitoring, key) for key in keys]
    # All are compared, so that the time does not tell which was near; an empty one is no token.
    return any([bool(token) and constant_time_compare(sent.strip(), token) for token in tokens])  # noqa: C419


def _is_signed_in(request: HttpRequest) -> bool:
    user: Any = getattr(request, "user", None)
    return bool(user is not None and user.is_authenticated)


def _may_see(request: HttpRequest) -> bool:
    user: Any = getattr(request, "user", None)
    return _is_signed_in(request) and user.is_active and user.is_staff and user.has_perm("locqueue.view_task")
