"""What a request pays for: a look at itself. All that can wait is done later, by the recorder's thread."""

import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from django_locqueue.accesslog import hit as limits
from django_locqueue.accesslog.client_ip import MAX_HEADER, MAX_HOP, Trust, client_ip
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.privacy.paths import NO_ROUTE, Secret, route_path, secrets_in
from django_locqueue.accesslog.privacy.policy import PrivacyPolicy
from django_locqueue.accesslog.privacy.protection import protect
from django_locqueue.accesslog.privacy.query import MAX_QUERY
from django_locqueue.accesslog.rules import Rules, Wanted
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


_new = tuple.__new__  # what RawHit(...) comes down to, at half its price


def capture(
    request: HttpRequest,
    response: HttpResponseBase | None,
    duration: float,
    wanted: Wanted,
    rules: Rules,
    user_id: int | str | None,
    visit: Visit,
) -> RawHit:
    """Return what is kept of the request. ``duration``: seconds.

    Each text is sliced to one character more than is kept, so that cleaning sees that there was more. A slice of a
    short text is the text itself, and one of a ``SafeString`` a plain ``str``.
    """
    get = request.META.get
    match = request.resolver_match
    policy = rules.policy
    values = (  # in the order of the fields
        time.time(),
        duration,
        rules.trust,
        clipped(get("REMOTE_ADDR") if rules.client_ip is None else _told_ip(request, rules.client_ip), MAX_HOP + 1),
        (get(rules.header) or "")[-MAX_HEADER - 1 :] if rules.header else "",
        user_id,
        (request.method or "")[: limits.METHOD_LENGTH + 1],
        # Not get_host(): it raises for a host that ALLOWED_HOSTS refuses, and those are worth a line.
        (get("HTTP_HOST") or get("SERVER_NAME") or "")[: limits.HOST_LENGTH + 1],
        (request.path if not policy.path_is_route else route_path(match.route) if match else NO_ROUTE)[
            : limits.PATH_LENGTH + 1
        ],
        _action(request, response, match, rules.action, wanted.marks.action)[: limits.ACTION_LENGTH + 1],
        match.route[: limits.ROUTE_LENGTH + 1] if match else "",
        wanted.status,
        "" if response is None else clipped(response.headers.get("Content-Length"), MAX_CONTENT_LENGTH),
        (get("HTTP_USER_AGENT") or "")[: limits.USER_AGENT_LENGTH + 1],
        (get("HTTP_REFERER") or "")[:MAX_REFERER],
        wanted.streaming,
        wanted.weight,
        wanted.marks.sensitive,
        visit,
        policy,
        (get("QUERY_STRING") or "")[: MAX_QUERY + 1] if policy.parameters else "",
        secrets_in(match),
        policy.is_opted_out(request.META),
    )
    return _new(RawHit, values)


def _action(
    request: HttpRequest,
    response: HttpResponseBase | None,
    match: Any,
    name: Callable[..., Any] | None,
    marked: str | None,
) -> str:
    """Return the name of what was done: as the view is marked, as the project names it, or the URL's name."""
    if marked is not None:
        return marked
    if name is not None:
        try:
            return limits.exact_text(name(request, response))
        except Exception:  # the project's code; the hit is worth keeping without its name
            logger.failure('LOCQUEUE["ACCESS_LOG"]["ACTION"] raised; the URL name is used.')
    return match.view_name if match else ""


def _told_ip(request: HttpRequest, tell: Callable[..., Any]) -> Any:
    try:
        return tell(request)
    except Exception:  # without an address, since the socket's may be what the project means to keep out of the log
        logger.failure('LOCQUEUE["ACCESS_LOG"]["CLIENT_IP"] raised; the request is recorded without an address.')
        return None


def clipped(value: Any, length: int) -> str:
    """Return the beginning of what projects set themselves: an address object, a number, None."""
    return (value if type(value) is str else limits.exact_text(value))[:length]
