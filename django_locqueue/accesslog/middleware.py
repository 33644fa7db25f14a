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
from django_locqueue.accesslog.raw_hit import capture
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
    request: HttpRequest, response: HttpResponseBase | None, status: Any, started: float, *, may_block: bool = True
) -> None:
    """Hand the request to the recorder; never raises. ``started``: by ``perf_counter``."""
    try:
        duration = time.perf_counter() - started
        rules = current_rules()
        if not rules.wants(request):
            return
        user = _user_id(request, rules) if may_block else None
        action = None if rules.action is None else _action(request, response, rules.action)
        hit = capture(request, response, status, duration, user, action, rules)
        if rules.direct and may_block:
            recorder.record_now(hit)
        else:
            recorder.record(hit)
    except Exception:
        _note_error()


async def arecord(request: HttpRequest, response: HttpResponseBase, status: Any, started: float) -> None:
    """``record`` on an event loop."""
    try:
        duration = time.perf_counter() - started
        rules = current_rules()
        if not rules.wants(request):
            return
        user = await _auser_id(request, rules)
        action = None if rules.action is None else _action(request, response, rules.action)
        hit = capture(request, response, status, duration, user, action, rules)
        if rules.direct:
            await recorder.arecord_now(hit)
        else:
            recorder.record(hit)
    except Exception:
        _note_error()


def _action(request: HttpRequest, response: HttpResponseBase | None, name: Callable[..., Any]) -> str | None:
    try:
        return limits.exact_text(name(request, response))
    except Exception:  # the project's code; the hit is worth keeping without its name
        logger.failure('LOCQUEUE["ACCESS_LOG"]["ACTION"] raised; the URL name is used.')
        return None


def _user_id(request: HttpRequest, rules: Rules) -> int | str | None:
    try:
        key = user_id(request, rules.user)
        return None if key is None else limits.user_id(key)
    except Exception:  # the session's database is down; the rest of the hit is not
        _note_user_error()
        return None


async def _auser_id(request: HttpRequest, rules: Rules) -> int | str | None:
    try:
        key = await auser_id(request, rules.user)
        return None if key is None else limits.user_id(key)
    except Exception:
        _note_user_error()
        return None


def _note_user_error() -> None:
    logger.failure("The user of a request could not be read; it is logged without.")


def _note_error() -> None:
    recorder.counts.errors += 1
    logger.failure("A request could not be logged; the response was not changed.")
