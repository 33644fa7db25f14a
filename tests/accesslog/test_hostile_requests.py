"""Whatever comes in a request, the answer is the site's own, and a line is stored."""

import asyncio
from io import BytesIO
from typing import Any, cast

import pytest
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse
from django.test import Client
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from django_locqueue.accesslog import middleware
from django_locqueue.accesslog.middleware import AccessLogMiddleware
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.recorder import Recorder
from django_locqueue.accesslog.storage import insert_hits
from tests.accesslog.conftest import MIDDLEWARE

GARBAGE = [
    "",
    "unknown",
    "b''",
    "_hidden",
    "localhost",
    "${jndi:ldap://x}",
    "1.2.3.4, ${jndi:ldap://x}",
    "j" * 4096,
    "999.1.1.1",
    "01.02.03.04",
    "<script>alert(1)</script>",
]


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


@pytest.mark.parametrize("remote", GARBAGE)
def test_i1_a_socket_without_an_address_leaves_none_and_asks_for_no_place(client, stored, remote):
    assert client.get("/page/", REMOTE_ADDR=remote).status_code == 200
    assert AccessLog.objects.get().ip is None
    assert not Location.objects.exists()


@pytest.mark.parametrize("forwarded", GARBAGE)
def test_i1_i6_what_a_proxy_cannot_vouch_for_leaves_the_proxys_address(client, stored, forwarded):
    stored(TRUSTED_PROXIES=["10.0.0.0/8"])
    response = client.get("/page/", REMOTE_ADDR="10.0.0.5", HTTP_X_FORWARDED_FOR=forwarded)
    assert response.status_code == 200
    assert AccessLog.objects.get().ip == "10.0.0.5"


def test_i2_a_request_of_excess_is_answered_and_stored(client, stored):
    response = client.generic(
        "M" * 40,
        "/any/" + "p" * 8_000,
        QUERY_STRING="q=" + "q" * 32_000,
        HTTP_USER_AGENT="a" * 10_000,
        HTTP_REFERER="https://example.com/" + "r" * 10_000,
        HTTP_HOST="h" * 255,
    )
    row = AccessLog.objects.get()
    assert (response.status_code, row.status) == (200, 200)
    assert {text[-1] for text in (row.method, row.path, row.user_agent, row.referer)} == {"…"}


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/any/a%00b", {}),
        ("/any/?x=%00", {}),
        ("/any/%ff%fe", {}),
        ("/any/%ed%a0%80", {}),  # half a surrogate pair
        ("/any/", {"HTTP_USER_AGENT": bytes(range(0x80, 0x100)).decode("latin-1")}),
        ("/any/", {"HTTP_USER_AGENT": "a\tb"}),
        ("/any/", {"HTTP_REFERER": "\ud800"}),
        ("/nowhere/%00", {}),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_i3_an_odd_request_gets_the_answer_that_it_gets_without_us(stored, site, method, path, headers):
    def answer():
        client = Client(raise_request_exception=False)  # it would keep the middlewares that it has met
        body = {"data": b"a\x00b", "content_type": "text/plain"} if method == "POST" else {}
        response = client.generic(method, path, **body, **headers)
        return response.status_code, response.content, dict(response.headers)

    recorded = answer()
    site.MIDDLEWARE = MIDDLEWARE[1:]
    assert answer() == recorded
    row = AccessLog.objects.get()
    assert "\x00" not in row.path + row.user_agent + row.referer


def test_i7_one_address_in_two_forms_is_one_network(client, stored):
    for remote in ("2001:db8::1", "2001:0DB8:0:0::1", "::ffff:49.65.250.135", "49.65.250.135"):
        client.get("/page/", REMOTE_ADDR=remote)
    assert set(AccessLog.objects.values_list("ip", "location_id")) == {
        ("2001:db8::1", "2001:db8::/48"),
        ("49.65.250.135", "49.65.250.0/24"),
    }


NAMES = [b"host", b"user-agent", b"referer", b"x-forwarded-for", b"content-length", b"cookie", b"accept", b"sec-gpc"]
names = st.one_of(st.sampled_from(NAMES), st.binary(min_size=1, max_size=40))


@pytest.mark.django_db
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(
    path=st.text(max_size=700).map(lambda text: "/" + text),
    headers=st.lists(st.tuples(names, st.binary(max_size=700)), max_size=12),
    peer=st.one_of(st.none(), st.text(max_size=80), st.just("10.0.0.5")),
    method=st.sampled_from(["GET", "POST", "X" * 40]),
)
def test_i3_whatever_a_server_hands_over_is_answered_sent_and_stored(
    configure, monkeypatch, path, headers, peer, method
):
    configure(TRUSTED_PROXIES=["10.0.0.0/8"], USER="always", EXCLUDE_PATHS=[])
    batches = []
    recorder = Recorder(batches.append)
    monkeypatch.setattr(recorder, "_start_thread", lambda: None)
    monkeypatch.setattr(middleware, "recorder", recorder)
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "headers": headers,
        "client": (peer, 1) if peer is not None else None,
    }
    response = HttpResponse("hello")

    async def view(request):
        return response

    assert asyncio.run(cast(Any, AccessLogMiddleware(view)(ASGIRequest(scope, BytesIO())))) is response
    assert recorder.flush()
    [[hit]] = batches
    good, bad = insert_hits([hit.to_json()])
    assert (len(good), bad) == (1, 0)
