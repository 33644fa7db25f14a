"""The middleware sees every request and changes none."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest
from django.contrib.auth import get_user_model
from django.test import AsyncClient, Client, RequestFactory
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from django_locqueue.accesslog import middleware
from django_locqueue.accesslog.middleware import AccessLogMiddleware
from tests.accesslog import urls
from tests.accesslog.conftest import MIDDLEWARE, HitList, a_hit


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


def test_a_request_is_recorded(client, hits):
    client.get("/orders/7/?token=secret", HTTP_USER_AGENT="Mozilla", HTTP_REFERER="https://a.example/?q=1")
    (hit,) = hits
    assert hit == a_hit(
        id=hit.id,
        time=hit.time,
        duration_ms=hit.duration_ms,
        ip="127.0.0.1",
        host="testserver",
        path="/orders/7/",
        action="order",
        route="orders/<int:number>/",
        bytes=5,
        user_agent="Mozilla",
        referer="https://a.example/",
        visitor=hit.visitor,
    )


@pytest.mark.parametrize(
    ("path", "status"), [("/fails/", 500), ("/suspicious/", 400), ("/nowhere/", 404), ("/page", 301), ("/page/", 200)]
)
def test_every_status_is_recorded(client, hits, path, status):
    assert client.get(path).status_code == status
    assert [hit.status for hit in hits] == [status]


def test_an_unknown_url_has_no_action(client, hits):
    client.get("/nowhere/")
    assert (hits[0].action, hits[0].route) == ("", "")


def test_an_exit_in_a_view_is_recorded_and_goes_on(client, hits):
    with pytest.raises(SystemExit):
        client.get("/leaves/")
    assert hits[0].status == 500


def test_a_host_that_is_not_allowed_is_recorded(client, hits, site):
    site.ALLOWED_HOSTS = ["example.com"]
    assert client.get("/page/", HTTP_HOST="evil.example").status_code == 400
    assert hits[0].host == "evil.example"


@pytest.mark.parametrize(("trusted", "host"), [(True, "shop.example"), (False, "backend:8000")])
def test_the_host_is_the_one_that_the_visitor_asked_for_where_django_trusts_the_proxy(
    client, hits, site, trusted, host
):
    site.USE_X_FORWARDED_HOST = trusted
    client.get("/page/", HTTP_HOST="backend:8000", HTTP_X_FORWARDED_HOST="shop.example")
    assert hits[0].host == host


@pytest.mark.parametrize("path", ["/static/a.css", "/favicon.ico", "/health"])
def test_noise_is_not_recorded(client, hits, path):
    client.get(path)
    assert hits == []


def test_options_requests_are_not_recorded(client, hits):
    client.options("/page/")
    assert hits == []


def test_an_unset_media_url_does_not_exclude_the_site(client, hits, site):
    site.MEDIA_URL = ""
    client.get("/page/")
    assert len(hits) == 1


def test_a_tree_excludes_all_below_it_and_a_path_only_itself(client, hits, configure):
    configure(EXCLUDE_PATHS=["/orders/", "/page"])
    for path in ("/orders/7/", "/page", "/page/"):
        client.get(path)
    assert [hit.path for hit in hits] == ["/page/"]


def test_nothing_is_recorded_when_it_is_switched_off(client, hits, configure):
    configure(ENABLED=False)
    client.get("/page/")
    assert hits == []


def test_the_project_names_actions(client, hits, configure):
    configure(ACTION=lambda request, response: f"{request.method} {response.status_code}")
    client.get("/page/")
    assert hits[0].action == "GET 200"


def broken_action(request, response):
    raise RuntimeError("action")


def test_an_action_function_that_raises_is_replaced_by_the_url_name(client, hits, configure, caplog):
    configure(ACTION="tests.accesslog.test_middleware.broken_action")
    client.get("/page/")
    assert hits[0].action == "page"


def test_an_action_function_that_is_missing_is_replaced_by_the_url_name(client, hits, configure):
    configure(ACTION="nowhere.to.be.found")
    client.get("/page/")
    assert hits[0].action == "page"


def test_the_client_address_follows_the_settings(client, hits, configure):
    configure(TRUSTED_PROXIES=["127.0.0.0/8"])
    client.get("/page/", HTTP_X_FORWARDED_FOR="1.2.3.4, 49.65.250.135")
    assert hits[0].ip == "49.65.250.135"


def test_the_project_can_tell_the_address(client, hits, configure):
    configure(CLIENT_IP=lambda request: request.META["HTTP_X_CLIENT"])
    client.get("/page/", HTTP_X_CLIENT="[2001:db8::1]:443")
    assert hits[0].ip == "2001:db8::1"


@pytest.mark.parametrize("told", [None, "", "nobody", 7, 1 / 3, b"1.2.3.4"])
def test_what_it_tells_may_be_no_address(client, hits, configure, told):
    configure(CLIENT_IP=lambda request: told)
    client.get("/page/")
    assert hits[0].ip is None


@pytest.mark.parametrize("function", [lambda request: 1 / 0, "nowhere.to.be.found", 7])
def test_an_address_that_cannot_be_told_is_none_and_not_the_sockets(client, hits, configure, function):
    """Perhaps the project tells addresses itself to keep some out of the log."""
    configure(CLIENT_IP=function, TRUSTED_PROXIES=["127.0.0.1"])
    client.get("/page/", HTTP_X_FORWARDED_FOR="49.65.250.135")
    assert [hit.ip for hit in hits] == [None]


# Users


@pytest.fixture
def alice(db):
    return get_user_model().objects.create(username="alice")


def test_i4_an_anonymous_page_costs_no_query_and_stays_cacheable(
    client, hits, configure, alice, django_assert_num_queries
):
    client.force_login(alice)
    with django_assert_num_queries(0):
        response = client.get("/page/")
    assert not response.has_header("Vary")
    assert not response.has_header("Set-Cookie")
    assert hits[0].user_id is None


def test_i4_a_user_that_the_view_loaded_is_recorded(client, hits, alice, django_assert_num_queries):
    client.force_login(alice)
    with django_assert_num_queries(2):
        client.get("/who/")
    assert hits[0].user_id == alice.pk


def test_who_signs_in_is_recorded(client, hits, alice):
    client.get("/sign-in/")
    assert hits[0].user_id == alice.pk


@pytest.mark.parametrize(("mode", "queries"), [("session", 1), ("always", 2)])
def test_i4_other_modes_query_and_add_no_header(
    client, hits, configure, alice, django_assert_num_queries, mode, queries
):
    configure(USER=mode)
    client.force_login(alice)
    with django_assert_num_queries(queries):
        response = client.get("/page/")
    assert not response.has_header("Vary")
    assert str(hits[0].user_id) == str(alice.pk)


def test_a_session_that_cannot_be_read_leaves_the_hit_without_a_user(client, hits, configure):
    configure(USER="always")  # and no `db` fixture: pytest-django refuses every query
    client.cookies["sessionid"] = "x"
    assert client.get("/page/").status_code == 200
    assert hits[0].user_id is None


@pytest.mark.parametrize("mode", ["if_loaded", "session", "always"])
async def test_users_are_found_on_an_event_loop(hits, configure, committed, mode):
    configure(USER=mode)
    alice = await get_user_model().objects.acreate(username="alice")
    client = AsyncClient()
    await client.aforce_login(alice)
    await client.get("/async-who/" if mode == "if_loaded" else "/async/")
    assert str(hits[0].user_id) == str(alice.pk)


# Bodies


@pytest.mark.parametrize("path", ["/stream/", "/file/"])
def test_i5_a_stream_goes_through_untouched(client, hits, path, db):
    response = client.get(path)
    assert response.streaming
    assert response.getvalue() == (b"".join(urls.CHUNKS) if path == "/stream/" else Path(urls.__file__).read_bytes())
    assert hits[0].streaming
    response.close()


def test_i5_the_size_of_a_stream_is_unknown_and_that_of_a_file_is_known(client, hits, db):
    client.get("/stream/").close()
    client.get("/file/").close()
    assert [hit.bytes is None for hit in hits] == [True, False]


def test_i5_a_stream_is_recorded_before_it_breaks(client, hits):
    response = client.get("/broken-stream/")
    with pytest.raises(RuntimeError):
        response.getvalue()
    assert hits[0].status == 200


async def test_i5_an_async_stream_goes_through_untouched(hits, site):
    site.MIDDLEWARE = MIDDLEWARE[:1]
    response = await AsyncClient().get("/async-stream/")
    assert [chunk async for chunk in cast(Any, response).streaming_content] == list(urls.CHUNKS)
    assert hits[0].streaming


# Async


async def test_i13_an_async_view_is_recorded(hits, site):
    await AsyncClient().get("/async/")
    assert [(hit.path, hit.status) for hit in hits] == [("/async/", 200)]


async def test_i13_the_chain_stays_async(hits, site, caplog):
    site.MIDDLEWARE = MIDDLEWARE[:1]
    with caplog.at_level("DEBUG", logger="django.request"):
        await AsyncClient().get("/async/")
    assert "adapted for middleware" not in caplog.text


async def test_i13_a_hundred_requests_at_once_are_a_hundred_hits(hits, site):
    site.MIDDLEWARE = MIDDLEWARE[:1]
    client = AsyncClient()
    await asyncio.gather(*(client.get(f"/any/{n}") for n in range(100)))
    assert {hit.path for hit in hits} == {f"/any/{n}" for n in range(100)}


async def test_i13_a_client_that_goes_away_is_499(hits, site, monkeypatch):
    site.MIDDLEWARE = MIDDLEWARE[:1]
    monkeypatch.setattr(urls, "slow_began", asyncio.Event())
    request = asyncio.ensure_future(AsyncClient().get("/slow/"))
    await urls.slow_began.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert [hit.status for hit in hits] == [499]


async def test_an_exit_in_an_async_view_is_recorded_and_goes_on(hits, site):
    async def leaves(request):
        raise GeneratorExit

    with pytest.raises(GeneratorExit):
        await cast(Any, AccessLogMiddleware(leaves)(RequestFactory().get("/")))
    assert hits[0].status == 500


# Trouble of our own


class BrokenRecorder(HitList):
    def record(self, hit):
        raise OSError("no thread")

    record_now = record

    async def arecord_now(self, hit):
        raise OSError("no thread")


@pytest.mark.parametrize("mode", ["buffer", "sync", "no such mode"])
def test_i9_a_broken_recorder_never_changes_a_response(client, configure, monkeypatch, mode):
    configure(BACKEND=mode)
    broken = BrokenRecorder()
    monkeypatch.setattr(middleware, "recorder", broken)
    assert client.get("/page/").status_code == 200
    assert broken.counts.errors == 1


@pytest.mark.parametrize("mode", ["buffer", "sync"])
async def test_i9_a_broken_recorder_never_changes_an_async_response(configure, monkeypatch, mode):
    configure(BACKEND=mode)
    monkeypatch.setattr(middleware, "recorder", BrokenRecorder())
    assert (await AsyncClient().get("/async/")).status_code == 200


@pytest.mark.parametrize(
    "keys",
    [
        {"EXCLUDE_PATHS": [None]},
        {"EXCLUDE_PATHS": 7},
        {"EXCLUDE_METHODS": None},
        {"TRUSTED_PROXIES": 7},
        {"ACTION": 7},
        {"USER": []},
        {"IP_HEADER": None},
        {"GEO": 7},
        {"SAMPLE_RATE": "half"},
        {"SLOW_MS": None, "SAMPLE_RATE": 0.5},
        {"METHODS": 7},
        {"EXCLUDE_VIEWS": 7},
        {"EXCLUDE_STATUS": [[]]},
        {"FILTER": 7},
        {"CLIENT_IP": 7},
        {"BOTS": []},
        {"MEASURE_STREAMING": "no"},
    ],
)
def test_no_setting_however_wrong_changes_a_response(client, hits, configure, keys):
    configure(**keys)
    assert client.get("/page/").status_code == 200


def test_settings_that_are_no_dict_change_no_response(client, hits, site):
    site.LOCQUEUE = {"ACCESS_LOG": 7}
    assert client.get("/page/").status_code == 200
    assert len(hits) == 1


# Whatever comes in the request


def environ_of(path, agent, referer, forwarded, remote, host, method):
    environ = RequestFactory().get("/").environ | {
        "PATH_INFO": path,
        "REQUEST_METHOD": method,
        "HTTP_USER_AGENT": agent,
        "HTTP_REFERER": referer,
        "HTTP_X_FORWARDED_FOR": forwarded,
        "REMOTE_ADDR": remote,
        "HTTP_HOST": host,
    }
    return {key: value for key, value in environ.items() if value is not None}


# A WSGI server hands over bytes as latin-1 text; RequestFactory users and bugs hand over anything.
raw = st.one_of(st.none(), st.binary(max_size=700).map(lambda b: b.decode("latin-1")), st.text(max_size=700))
whatever = st.one_of(raw, st.binary(max_size=50))


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    path=st.binary(max_size=700).map(lambda b: "/" + b.decode("latin-1")),
    agent=whatever,
    referer=whatever,
    forwarded=whatever,
    remote=whatever,
    host=whatever,
    method=st.text(max_size=40),
)
def test_i3_no_request_however_odd_is_lost_or_changed(
    hits, configure, path, agent, referer, forwarded, remote, host, method
):
    from django.core.handlers.wsgi import WSGIRequest
    from django.http import HttpResponse

    hits.clear()
    response = HttpResponse("hello")
    request = WSGIRequest(environ_of(path, agent, referer, forwarded, remote, host, method))
    assert AccessLogMiddleware(lambda request: response)(request) is response
    assert len(hits) == (method.upper() != "OPTIONS" and not request.path.startswith("/static/"))
    for hit in hits:
        for value, length in ((hit.path, 512), (hit.user_agent, 255), (hit.referer, 512), (hit.host, 255)):
            assert len(value) <= length
            assert "\x00" not in value.encode().decode()
