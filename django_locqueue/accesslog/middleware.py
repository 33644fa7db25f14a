"""Records every request, and changes none."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from django_locqueue import current_origin
from django_locqueue.accesslog import hit as limits
from django_locqueue.accesslog.raw_hit import RawHit, capture
from django_locqueue.accesslog.recorder import recorder
from django_locqueue.accesslog.rules import Rules, current_rules
from django_locqueue.accesslog.signed_in import auser_id, user_id
from django_locqueue.accesslog.stream import CLIENT_CLOSED_REQUEST, SERVER_ERROR, measure
from django_locqueue.accesslog.throttled import ThrottledLogger
from django_locqueue.accesslog.visit import Visit

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"))


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
        if self.is_async:
            return self._answer_async(request)
        visit = Visit()
        outside = current_origin.set(visit)
        started = time.perf_counter()
        try:
            response: HttpResponseBase = self.get_response(request)
        except BaseException:  # SystemExit and the like: Django has turned every Exception into a response
            current_origin.reset(outside)
            if hit := record(request, None, SERVER_ERROR, started, visit):
                finish(request, None, hit)
            raise
        current_origin.reset(outside)
        if hit := record(request, response, response.status_code, started, visit):
            finish(request, response, hit)
        return response

    async def _answer_async(self, request: HttpRequest) -> HttpResponseBase:
        visit = Visit()
        outside = current_origin.set(visit)
        started = time.perf_counter()
        try:
            response: HttpResponseBase = await self.get_response(request)
        except BaseException as error:
            with suppress(ValueError):  # a coroutine that nobody awaits any more is closed in another's context
                current_origin.reset(outside)
            gone = isinstance(error, asyncio.CancelledError)
            if hit := record(request, None, CLIENT_CLOSED_REQUEST if gone else SERVER_ERROR, started, visit):
                finish(request, None, hit, may_wait=False)
            raise
        current_origin.reset(outside)
        if hit := record(request, response, response.status_code, started, visit):
            await afinish(request, response, hit)
        return response


def record(
    request: HttpRequest, response: HttpResponseBase | None, status: Any, started: float, visit: Visit
) -> RawHit | None:
    """End the visit, and hand the request to the recorder; never raises. ``started``: by ``perf_counter``.

    Return the hit instead if the settings want more of it, for which the caller may have to wait.
    """
    visit.over = True
    try:
        rules = current_rules()
        captured = capture(request, response, status, time.perf_counter() - started, visit, rules)
        if captured is None:
            return None
        if not rules.is_plain:
            return RawHit._make(captured)
        recorder.record(captured)
    except Exception:
        _note_error()
    return None


def finish(request: HttpRequest, response: HttpResponseBase | None, hit: RawHit, *, may_wait: bool = True) -> None:
    """Find the user, and send the hit: at once, or when the streamed body has ended. Never raises.

    ``may_wait``: whether a database may be asked.
    """
    try:
        rules = current_rules()
        if may_wait:
            hit = hit._replace(user_id=_user_id(request, rules))
        if rules.measures(request, response):
            _measure(response, hit, rules)
        else:
            _send(hit, rules, may_wait=may_wait)
    except Exception:
        _note_error()


async def afinish(request: HttpRequest, response: HttpResponseBase, hit: RawHit) -> None:
    """``finish`` on an event loop."""
    try:
        rules = current_rules()
        hit = hit._replace(user_id=await _auser_id(request, rules))
        if rules.measures(request, response):
            _measure(response, hit, rules)
        else:
            await _asend(hit, rules)
    except Exception:
        _note_error()


def _send(hit: RawHit, rules: Rules, *, may_wait: bool = True) -> None:
    if rules.direct and may_wait:
        recorder.record_now(hit)
    else:
        recorder.record(hit)


async def _asend(hit: RawHit, rules: Rules) -> None:
    if rules.direct:
        await recorder.arecord_now(hit)
    else:
        recorder.record(hit)


def _measure(response: HttpResponseBase | None, hit: RawHit, rules: Rules) -> None:
    """Send the hit when the body has ended, by what is true of it then."""

    def ended(status: int | None) -> RawHit | None:
        last = hit.ended(status)
        if rules.sample is None:
            return last
        weight = rules.sample.weight(last.status, last.duration)
        return last._replace(weight=weight) if weight else None

    def end(status: int | None, *, may_wait: bool = True) -> None:
        try:
            if last := ended(status):
                _send(last, rules, may_wait=may_wait)
        except Exception:
            _note_error()

    async def aend(status: int | None) -> None:
        try:
            if last := ended(status):
                await _asend(last, rules)
        except Exception:
            _note_error()

    measure(response, end, aend)


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
    recorder.note_error()
    logger.failure("A request could not be logged; the response was not changed.")
