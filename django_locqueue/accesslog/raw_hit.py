"""What a request pays for: a look at itself. All that can wait is done later, by the recorder's thread."""

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from django_locqueue.accesslog import hit as limits
from django_locqueue.accesslog.client_ip import MAX_HEADER, MAX_HOP, Trust, client_ip
from django_locqueue.accesslog.decorators import ATTRIBUTE, UNMARKED
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.privacy.paths import NO_ROUTE, Secret, route_path, secrets_in
from django_locqueue.accesslog.privacy.policy import DNT, GPC, PrivacyPolicy
from django_locqueue.accesslog.privacy.protection import protect
from django_locqueue.accesslog.privacy.query import MAX_QUERY
from django_locqueue.accesslog.rules import Rules
from django_locqueue.accesslog.signed_in import loaded_user_id
from django_locqueue.accesslog.throttled import ThrottledLogger
from django_locqueue.accesslog.visit import Visit

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"))

MAX_REFERER = 1024  # cut once more when its query is gone
MAX_CONTENT_LENGTH = 20


class RawHit(NamedTuple):
    """A hit before cleaning: texts and numbers of bounded size, and nothing that keeps the request alive.

    ``clean`` makes the hit of it. It asks no settings, so that it means the same in the thread and later.
    """

    answered: float  # seconds since 1970
    duration: float  # seconds
    trust: Trust
    remote: str
    forwarded: str  # the proxies' header, if any are trusted
    user_id: int | str | None
    method: str
    host: str
    path: str
    action: str
    route: str
    status: int
    content_length: str
    user_agent: str
    referer: str
    streaming: bool
    weight: float  # how many requests it stands for
    sensitive: bool  # the view is marked so
    visit: Visit  # its id is made when the hit is cleaned, unless something asked for it in the request
    policy: PrivacyPolicy
    query: str  # only if some of it may be kept
    secrets: tuple[Secret, ...]  # parts of the path
    opted_out: bool

    def ended(self, status: int | None = None) -> "RawHit":
        """Return the hit of a streamed answer that has ended now; with another status if it did not end well."""
        now = time.time()
        lasted = max(0.0, now - self.answered)  # a clock may be put back
        return self._replace(
            answered=now, duration=self.duration + lasted, status=self.status if status is None else status
        )

    def clean(self) -> Hit:
        """Return the hit: cleaned, cut to its columns, with an id of its own, and with nothing that is not to be kept.

        What it was made of stays in this process.
        """
        return protect(
            self._whole(),
            self.policy,
            query=self.query,
            secrets=self.secrets,
            opted_out=self.opted_out,
            sensitive=self.sensitive,
        )

    def _whole(self) -> Hit:
        return Hit(
            id=self.visit.id,
            time=self.answered - self.duration,
            ip=client_ip({"REMOTE_ADDR": self.remote, self.trust.header: self.forwarded}, self.trust),
            user_id=limits.user_id(self.user_id),
            method=limits.text(self.method, limits.METHOD_LENGTH),
            host=limits.text(self.host, limits.HOST_LENGTH),
            path=limits.text(self.path, limits.PATH_LENGTH),
            action=limits.text(self.action, limits.ACTION_LENGTH),
            route=limits.text(self.route, limits.ROUTE_LENGTH),
            status=limits.number(self.status, limits.MAX_STATUS),
            duration_ms=limits.number(self.duration * 1000, limits.MAX_DURATION_MS),
            bytes=limits.content_length(self.content_length),
            user_agent=limits.text(self.user_agent, limits.USER_AGENT_LENGTH),
            referer=limits.referer(self.referer),
            streaming=self.streaming,
            weight=self.weight,
            task_ids=",".join(map(str, self.visit.task_ids)),
        )


Captured = tuple[Any, ...]  # the fields of a RawHit, which is made of them when somebody needs one

# One more than is kept, so that cleaning sees that there was more.
_METHOD = limits.METHOD_LENGTH + 1
_HOST = limits.HOST_LENGTH + 1
_PATH = limits.PATH_LENGTH + 1
_ACTION = limits.ACTION_LENGTH + 1
_ROUTE = limits.ROUTE_LENGTH + 1
_USER_AGENT = limits.USER_AGENT_LENGTH + 1
_REMOTE = MAX_HOP + 1
_FORWARDED = MAX_HEADER + 1
_QUERY = MAX_QUERY + 1


def capture(
    request: HttpRequest, response: HttpResponseBase | None, status: Any, duration: float, visit: Visit, rules: Rules
) -> Captured | None:
    """Return what is kept of the request; None if nothing is.

    ``response``: None if there is none. ``duration``: seconds.

    One function, and rare things behind a look at a flag: in the midst of a request each call costs several times what
    it does in a loop. A slice of a short text is the text itself, and one of a ``SafeString`` a plain ``str``.
    """
    path, method = request.path, request.method or ""
    if path in rules.paths or path.startswith(rules.trees) or method in rules.methods:
        return None
    # Not request.__dict__: where nobody asks for it Python makes none, and the attributes are sooner found.
    if getattr(request, "locqueue_log", True) is False:
        return None
    match: Any = request.resolver_match  # django-stubs lacks some of it
    if match is None:
        action, route, marks = "", "", UNMARKED
    else:
        action, route, marks = match.view_name, match.route, getattr(match.func, ATTRIBUTE, UNMARKED)
        if marks is not UNMARKED:
            if marks.exclude:
                return None
            action = action if marks.action is None else marks.action
    if type(status) is not int:
        status = limits.number(status, limits.MAX_STATUS)
    meta = request.META
    get = meta.get
    weight, remote, forwarded, query = 1.0, get("REMOTE_ADDR"), "", ""
    # Not get_host(): it raises for a host that ALLOWED_HOSTS refuses, and those are worth a line.
    host = get("HTTP_HOST") or get("SERVER_NAME") or ""
    policy = rules.policy
    if not rules.is_usual:
        if not rules.enabled:
            return None
        if rules.exclusions is not None and rules.exclusions.cover(request, response, status):
            return None
        if rules.sample is not None:
            weight = rules.sample.weight(status, duration)
            if not weight and not rules.measures(request, response):  # a measured one is weighed at its end
                return None
        if rules.action is not None and marks.action is None:
            action = _named(request, response, rules.action, otherwise=action)
        if rules.client_ip is not None:
            remote = _told_ip(request, rules.client_ip)
        if rules.header:
            forwarded = (get(rules.header) or "")[-_FORWARDED:]
        if rules.forwarded_host:
            host = get("HTTP_X_FORWARDED_HOST") or host
        if policy.path_is_route:
            path = route_path(route) if match else NO_ROUTE
        if policy.parameters:
            query = (get("QUERY_STRING") or "")[:_QUERY]
    # Where there is no such header, headers.get() raises and catches an error: a tenth of all that a request pays.
    headers: Any = None if response is None else response.headers
    length = None if headers is None else headers._store.get("content-length")
    return (  # in the order of the fields
        time.time(),
        duration,
        rules.trust,
        remote[:_REMOTE] if type(remote) is str else clipped(remote, _REMOTE),
        forwarded,
        _loaded_user(request)
        if hasattr(request, "user") or hasattr(request, "_cached_user") or hasattr(request, "_acached_user")
        else None,
        method[:_METHOD],
        host[:_HOST],
        path[:_PATH],
        action[:_ACTION],
        route[:_ROUTE],
        status,
        "" if length is None else clipped(length[1], MAX_CONTENT_LENGTH),
        (get("HTTP_USER_AGENT") or "")[:_USER_AGENT],
        (get("HTTP_REFERER") or "")[:MAX_REFERER],
        bool(getattr(response, "streaming", False)),
        weight,
        marks.sensitive,
        visit,
        policy,
        query,
        secrets_in(match) if match and match.captured_kwargs else (),
        (GPC in meta or DNT in meta) and policy.is_opted_out(meta),
    )


def _loaded_user(request: HttpRequest) -> int | str | None:
    try:
        key = loaded_user_id(request)
        return None if key is None else limits.user_id(key)
    except Exception:  # the project's own user
        logger.failure("The user of a request could not be read; it is logged without.")
        return None


def _named(request: HttpRequest, response: HttpResponseBase | None, name: Callable[..., Any], *, otherwise: str) -> str:
    try:
        return limits.exact_text(name(request, response))
    except Exception:  # the project's code; the hit is worth keeping without its name
        logger.failure('LOCQUEUE["ACCESS_LOG"]["ACTION"] raised; the URL name is used.')
        return otherwise


def _told_ip(request: HttpRequest, tell: Callable[..., Any]) -> Any:
    try:
        return tell(request)
    except Exception:  # without an address, since the socket's may be what the project means to keep out of the log
        logger.failure('LOCQUEUE["ACCESS_LOG"]["CLIENT_IP"] raised; the request is recorded without an address.')
        return None


def clipped(value: Any, length: int) -> str:
    """Return the beginning of what projects set themselves: an address object, a number, None."""
    return (value if type(value) is str else limits.exact_text(value))[:length]
