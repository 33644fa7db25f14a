"""Records every request, and changes none."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from django_locqueue.accesslog import hit as limits
from django_locqueue.accesslog.client_ip import client_ip
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.recorder import recorder
from django_locqueue.accesslog.rules import Rules, current_rules
from django_locqueue.accesslog.throttled import ThrottledLogger
from django_locqueue.accesslog.visitor import auser_id, user_id

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"))

SERVER_ERROR = 500
CLIENT_CLOSED_REQUEST = 499  # nginx's word for a client that went away


class AccessLogMiddleware:
    """Outermost, so that it sees what other middlewares answer, and the whole time.

    No query (unless ``USER`` asks for one), no header, no body read. Whatever goes wrong here is counted and logged,
    and the response goes out as it is.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self.get_response = get_response
        self.is_async = iscoroutinefunction(get_response)
        if self.is_async:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        return self._answer_async(request) if self.is_async else self._answer(request)

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        try:
            response: HttpResponseBase = self.get_response(request)
        except BaseException:  # SystemExit and the like: Django has turned every Exception into a response
            record(request, None, SERVER_ERROR, started)
            raise
        record(request, response, response.status_code, started)
        return response

    async def _answer_async(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        try:
            response: HttpResponseBase = await self.get_response(request)
        except asyncio.CancelledError:
            record(request, None, CLIENT_CLOSED_REQUEST, started, may_block=False)
            raise
        except BaseException:
            record(request, None, SERVER_ERROR, started, may_block=False)
            raise
        await arecord(request, response, response.status_code, started)
        return response


def record(
    request: HttpRequest, response: HttpResponseBase | None, status: int, started: float, *, may_block: bool = True
) -> None:
    """Hand the request to the recorder; never raises. ``started``: by ``perf_counter``."""
    try:
        duration = time.perf_counter() - started
        rules = current_rules()
        if not rules.wants(request):
            return
        user = _user_id(request, rules) if may_block else None
        hit = make_hit(request, response, status, duration, user, rules)
        if rules.direct and may_block:
            recorder.record_now(hit)
        else:
            recorder.record(hit)
    except Exception:
        _note_error()


async def arecord(request: HttpRequest, response: HttpResponseBase, status: int, started: float) -> None:
    """``record`` on an event loop."""
    try:
        duration = time.perf_counter() - started
        rules = current_rules()
        if not rules.wants(request):
            return
        hit = make_hit(request, response, status, duration, await _auser_id(request, rules), rules)
        if rules.direct:
            await recorder.arecord_now(hit)
        else:
            recorder.record(hit)
    except Exception:
        _note_error()


def make_hit(
    request: HttpRequest, response: HttpResponseBase | None, status: int, duration: float, user: Any, rules: Rules
) -> Hit:
    """Return what is kept of the request, cleaned and cut. ``duration``: seconds."""
    meta = request.META
    match = request.resolver_match
    return Hit(
        id=limits.new_id(),
        time=time.time() - duration,
        ip=client_ip(meta, rules.trust),
        user_id=limits.user_id(user),
        method=limits.text(request.method, limits.METHOD_LENGTH),
        # Not get_host(): it raises for a host that ALLOWED_HOSTS refuses, and those are worth a line.
        host=limits.text(meta.get("HTTP_HOST") or meta.get("SERVER_NAME"), limits.HOST_LENGTH),
        path=limits.text(request.path, limits.PATH_LENGTH),
        action=limits.text(_action(request, response, rules), limits.ACTION_LENGTH),
        route=limits.text(match and match.route, limits.ROUTE_LENGTH),
        status=limits.number(status, limits.MAX_STATUS),
        duration_ms=limits.number(duration * 1000, limits.MAX_DURATION_MS),
        bytes=None if response is None else limits.content_length(response.headers.get("Content-Length")),
        user_agent=limits.text(meta.get("HTTP_USER_AGENT"), limits.USER_AGENT_LENGTH),
        referer=limits.referer(meta.get("HTTP_REFERER")),
        streaming=response is not None and response.streaming,
    )


def _action(request: HttpRequest, response: HttpResponseBase | None, rules: Rules) -> Any:
    if rules.action is not None:
        try:
            return rules.action(request, response)
        except Exception:  # the project's code; the hit is worth keeping without its name
            logger.failure('LOCQUEUE["ACCESS_LOG"]["ACTION"] raised; the URL name is used.')
    match = request.resolver_match
    return match.view_name if match else ""


def _user_id(request: HttpRequest, rules: Rules) -> Any:
    try:
        return user_id(request, rules.user)
    except Exception:  # the session's database is down; the rest of the hit is not
        _note_user_error()
        return None


async def _auser_id(request: HttpRequest, rules: Rules) -> Any:
    try:
        return await auser_id(request, rules.user)
    except Exception:
        _note_user_error()
        return None


def _note_user_error() -> None:
    logger.failure("The user of a request could not be read; it is logged without.")


def _note_error() -> None:
    recorder.counts.errors += 1
    logger.failure("A request could not be logged; the response was not changed.")
