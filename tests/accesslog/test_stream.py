"""Streamed answers are measured to their end, and go out as they are."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.http import FileResponse, StreamingHttpResponse
from django.test import AsyncClient, Client, RequestFactory

from django_locqueue.accesslog import middleware, raw_hit
from django_locqueue.accesslog.middleware import AccessLogMiddleware
from tests.accesslog import urls
from tests.accesslog.asgi_client import visit
from tests.accesslog.conftest import MIDDLEWARE, HitList

pytestmark = pytest.mark.usefixtures("measured", "db")  # a response that is closed looks at the connections


@pytest.fixture
def measured(configure, site):
    site.MIDDLEWARE = MIDDLEWARE[:1]
    configure(MEASURE_STREAMING=True)


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves; for the time since the answer's head."""
    clock = SimpleNamespace(now=1_790_000_000.0, time=lambda: clock.now)
    monkeypatch.setattr(raw_hit, "time", clock)
    return clock


def answer(view, method="GET"):
    return cast(Any, AccessLogMiddleware(view)(RequestFactory().generic(method, "/")))


def statuses(hits):
    return [hit.status for hit in hits]


def test_i5_the_duration_ends_with_the_body(hits, clock):
    def chunks():
        for chunk in urls.CHUNKS:
            clock.now += 2
            yield chunk

    response = answer(lambda request: StreamingHttpResponse(chunks()))
    assert hits == []
    assert response.getvalue() == b"".join(urls.CHUNKS)
    [hit] = hits
    assert 6000 <= hit.duration_ms < 7000
    assert hit.time == pytest.approx(1_790_000_000.0, abs=0.9)


def test_i5_no_chunk_is_asked_for_before_the_server_asks(hits):
    asked = []

    def chunks():
        for chunk in urls.CHUNKS:
            asked.append(chunk)
            yield chunk

    body = iter(answer(lambda request: StreamingHttpResponse(chunks())))
    assert asked == []
    next(body)
    assert asked == [urls.CHUNKS[0]]


def test_i5_a_stream_is_one_hit_however_often_it_ends(hits):
    response = Client().get("/stream/")
    assert response.getvalue() == b"".join(urls.CHUNKS)
    response.close()
    assert statuses(hits) == [200]


def test_i5_a_client_that_leaves_a_stream_is_499(hits):
    body = WSGIHandler()(RequestFactory().get("/stream/").environ, lambda status, headers: None)
    next(iter(body))
    body.close()
    assert statuses(hits) == [499]


def test_i5_a_stream_that_breaks_is_an_error(hits):
    response = Client().get("/broken-stream/")
    with pytest.raises(RuntimeError, match="half-way"):
        response.getvalue()
    response.close()
    assert statuses(hits) == [500]


def test_the_generator_of_a_stream_is_closed_as_without_us(hits):
    closed = []

    def chunks():
        try:
            yield from urls.CHUNKS
        finally:
            closed.append(True)

    response = answer(lambda request: StreamingHttpResponse(chunks()))
    next(iter(response))
    response.close()
    assert closed == [True]


def test_i5_a_file_stays_one_that_the_server_may_send_by_itself(hits):
    file = answer(lambda request: FileResponse(open(__file__, "rb")))  # noqa: PTH123, SIM115 - the response closes it
    assert file.file_to_stream is not None
    assert hits == []
    file.close()
    assert statuses(hits) == [200]


def test_i5_a_part_of_a_file_goes_through(hits):
    response = Client().get("/ranged-file/")
    assert (response.status_code, response.getvalue()) == (206, b"second ")
    response.close()
    assert statuses(hits) == [206]


def test_a_head_request_has_no_body_to_leave(hits):
    answer(lambda request: StreamingHttpResponse(iter(urls.CHUNKS)), "HEAD")
    assert statuses(hits) == [200]


def test_other_answers_are_recorded_at_once(hits):
    Client().get("/page/")
    assert statuses(hits) == [200]


def test_a_slow_body_counts_as_slow(hits, configure, clock):
    def chunks(seconds):
        clock.now += seconds
        yield b"x"

    configure(MEASURE_STREAMING=True, SAMPLE_RATE=0, SLOW_MS=1500)
    for seconds in (1, 2):
        answer(lambda request, seconds=seconds: StreamingHttpResponse(chunks(seconds))).getvalue()
    assert [hit.weight for hit in hits] == [1.0]


def test_a_clock_that_is_put_back_makes_no_negative_duration(hits, clock):
    response = answer(lambda request: StreamingHttpResponse(iter(urls.CHUNKS)))
    clock.now -= 3600
    response.getvalue()
    assert 0 <= hits[0].duration_ms < 1000


def test_i9_a_recorder_that_breaks_breaks_no_body(monkeypatch):
    class Broken(HitList):
        def record(self, raw):
            raise OSError("no thread")

    broken = Broken()
    monkeypatch.setattr(middleware, "recorder", broken)
    assert Client().get("/stream/").getvalue() == b"".join(urls.CHUNKS)
    assert broken.counts.errors == 1


# Async


async def test_i5_an_async_stream_is_measured(hits):
    response = await AsyncClient().get("/async-stream/")
    assert hits == []
    assert [chunk async for chunk in cast(Any, response).streaming_content] == list(urls.CHUNKS)
    assert statuses(hits) == [200]


@pytest.mark.parametrize("mode", ["buffer", "sync"])
@pytest.mark.parametrize("path", ["/async-stream/", "/stream/"])
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
async def test_i5_i13_a_server_gets_every_chunk_and_the_hit_is_one(hits, configure, path, mode):
    configure(MEASURE_STREAMING=True, BACKEND=mode)
    assert await visit(path) == list(urls.CHUNKS)
    assert statuses(hits) == [200]


@pytest.mark.parametrize("mode", ["buffer", "sync"])
async def test_i5_i13_a_client_that_leaves_an_async_stream_is_499(hits, configure, mode):
    configure(MEASURE_STREAMING=True, BACKEND=mode)
    assert await visit("/endless/", leave_after=1) == [urls.CHUNKS[0]]
    assert statuses(hits) == [499]


async def test_i5_i13_an_async_stream_that_breaks_is_an_error(hits):
    response = await AsyncClient().get("/async-broken-stream/")
    with pytest.raises(RuntimeError, match="half-way"):
        _ = [chunk async for chunk in cast(Any, response).streaming_content]
    assert statuses(hits) == [500]


async def test_what_is_cancelled_waits_for_no_database(hits, configure, monkeypatch):
    async def refused(raw):
        raise AssertionError("waited for a database")

    monkeypatch.setattr(hits, "arecord_now", refused)
    monkeypatch.setattr(hits, "record_now", refused)
    configure(MEASURE_STREAMING=True, BACKEND="sync")
    await visit("/endless/", leave_after=1)
    assert statuses(hits) == [499]


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
def test_an_async_stream_is_measured_on_a_sync_server_too(hits):
    body = WSGIHandler()(RequestFactory().get("/async-stream/").environ, lambda status, headers: None)
    assert b"".join(body) == b"".join(urls.CHUNKS)
    body.close()
    assert statuses(hits) == [200]
