"""What a request leaves: bounded, free of the request, and always fit for the queue once it is clean."""

import gc
import sys
import weakref
from enum import StrEnum
from http import HTTPStatus
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from django_locqueue.accesslog import middleware
from django_locqueue.accesslog.middleware import AccessLogMiddleware
from django_locqueue.accesslog.raw_hit import RawHit
from django_locqueue.accesslog.recorder import Recorder
from django_locqueue.models import Task
from django_locqueue.policies import payload
from tests.accesslog import urls

LOCQUEUE = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": []}}
GOOD = "/good/"


@pytest.fixture
def recorder(site, monkeypatch):
    """The site's recorder, without a thread: the test flushes."""
    own = Recorder()
    own._outage = 1
    monkeypatch.setattr(own, "_start_thread", lambda: None)
    monkeypatch.setattr(middleware, "recorder", own)
    return own


def section(request, response):
    return urls.Section.NEWS


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["buffer", "sync"])
def test_a_response_with_enums_and_safe_strings_is_recorded_and_stops_nothing(site, configure, recorder, mode):
    site.TASKS = LOCQUEUE
    recorder._outage = 0
    configure(BACKEND=mode, ACTION="tests.accesslog.test_raw_hit.section")
    client = Client()
    for path in ("/page/", "/odd/", "/page/"):
        client.get(path)
    assert recorder.flush()
    assert (recorder.counts.sent, recorder.counts.refused, recorder.counts.errors) == (3, 0, 0)
    hits = [hit for task in Task.objects.order_by("pk") for hit in payload.call_of(task.args_kwargs)[1]["private_hits"]]
    assert [(hit[6], hit[7], hit[9]) for hit in hits] == [
        ("/page/", "news", 200),
        ("/odd/", "news", 404),
        ("/page/", "news", 200),
    ]
    assert hits[1][2] == "49.65.250.135"
    assert hits[1][11] == 5


class Hostile:
    """Raises for whatever is asked."""

    def _refuse(self, *args: Any) -> Any:
        raise RuntimeError("hostile")

    __str__ = __repr__ = __int__ = __float__ = __index__ = __len__ = __bool__ = __getitem__ = __ge__ = _refuse


class Name(StrEnum):
    A = "a"


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=300),
    st.binary(max_size=50),
    st.text(max_size=300).map(SafeString),
    st.lists(st.integers(), max_size=3),
    st.sampled_from([*HTTPStatus][:5]),
    st.sampled_from([Name.A, gettext_lazy("Home"), Hostile(), object(), 10**5000, 2**64]),
)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(status=anything, action=anything, length=anything, user=anything, streaming=anything)
def test_whatever_a_view_sets_is_enqueued_or_dropped_alone(
    configure, monkeypatch, status, action, length, user, streaming
):
    sent = []

    def send(batch):
        hits = [hit.to_json() for hit in batch]
        payload.dump_call([hits], {})  # what enqueue does before any SQL
        sent.extend(hit[6] for hit in hits)

    own = Recorder(send)
    own._outage = 1
    monkeypatch.setattr(own, "_start_thread", lambda: None)
    monkeypatch.setattr(middleware, "recorder", own)
    configure(ACTION=lambda request, response: action if request.path == "/odd/" else "good")

    def view(request):
        response = HttpResponse("hello")
        if request.path == "/odd/":
            response.status_code = status
            response.headers = {"Content-Length": length}
            response.streaming = streaming
            request.user = type("User", (), {"pk": user})()
        return response

    answer = AccessLogMiddleware(view)
    for path in (GOOD, "/odd/", GOOD):
        answer(RequestFactory().get(path))
    assert own.flush()
    assert sent in ([GOOD, "/odd/", GOOD], [GOOD, GOOD])
    assert len(sent) + own.counts.refused + own.counts.errors == 3


def test_a_buffered_hit_does_not_keep_its_request_alive(recorder):
    request = RequestFactory().get("/page/")
    request.user = type("User", (), {"pk": 7, "request": request})()
    AccessLogMiddleware(lambda request: HttpResponse())(request)
    gone = weakref.ref(request)
    del request
    gc.collect()
    assert recorder.buffered == 1
    assert gone() is None


def test_a_buffered_hit_is_small_however_large_the_request(configure, recorder):
    configure(TRUSTED_PROXIES=["127.0.0.1"])
    huge = "x" * 1_000_000
    headers = dict.fromkeys(("HTTP_HOST", "HTTP_USER_AGENT", "HTTP_REFERER", "HTTP_X_FORWARDED_FOR"), huge)
    request = RequestFactory().generic(huge[:9999], "/" + huge, REMOTE_ADDR=huge, **headers)
    AccessLogMiddleware(lambda request: HttpResponse())(request)
    assert sum(map(sys.getsizeof, recorder._hits[0])) < 10_000


def test_cleaning_asks_no_settings(configure, recorder):
    """The thread cleans later; a hit belongs to the settings under which it came."""
    configure(TRUSTED_PROXIES=["127.0.0.1"])
    request = RequestFactory().get("/page/", headers={"X-Forwarded-For": "49.65.250.135"})
    AccessLogMiddleware(lambda request: HttpResponse())(request)
    configure(TRUSTED_PROXIES=[])
    assert RawHit._make(recorder._hits[0]).clean().ip == "49.65.250.135"
