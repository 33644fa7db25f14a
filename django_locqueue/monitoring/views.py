"""Health, status and metrics: three views over the snapshots that admin and the commands show.

Who may see them: a program that has a token, or a person who may see tasks in admin.
"""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import Error, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from django_locqueue import conf
from django_locqueue.observability.snapshot import Snapshot
from django_locqueue.observability.status_json import status_json
from django_locqueue.observability.verdict import Level, Limits, Verdict, judge, snapshots, unreadable

SERVED = (Level.OK, Level.WARNING)
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


def _judged() -> tuple[list[Snapshot], Verdict]:
    try:
        found = snapshots()
        return found, judge(found, Limits.from_settings())
    except Error:
        return [], unreadable()  # without the driver's words, which name hosts and users


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


@transaction.non_atomic_requests  # a database that is away is an answer of ours, not an error before it
@for_tokens("HEALTH_TOKEN", "METRICS_TOKEN")
def health(request: HttpRequest) -> HttpResponse:
    """Answer 200 while tasks are served, else 503, with the reasons."""
    _found, verdict = _judged()
    answer = {"status": verdict.level.value, "problems": list(verdict.problems)}
    return JsonResponse(answer, status=200 if verdict.level in SERVED else 503)


@transaction.non_atomic_requests
@for_tokens("METRICS_TOKEN")
def status(request: HttpRequest) -> HttpResponse:
    """Answer what ``queue_status --json`` prints."""
    found, verdict = _judged()
    return JsonResponse(status_json(found, verdict), status=200 if found else 503)


@transaction.non_atomic_requests
@for_tokens("METRICS_TOKEN")
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer in the text format that Prometheus reads."""
    try:
        from django_locqueue.monitoring import prometheus
    except ImportError:
        text = "Metrics need prometheus-client: pip install 'django-locqueue[prometheus]'\n"
        return HttpResponse(text, "text/plain", 501)
    body, content_type = prometheus.exposition(request.headers.get("Accept", ""))
    return HttpResponse(body, content_type)
