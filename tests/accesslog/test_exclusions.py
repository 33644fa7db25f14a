"""Which requests leave no line."""

import pytest
from django.test import AsyncClient, Client

BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"


@pytest.fixture
def client():
    return Client(raise_request_exception=False, headers={"user-agent": BROWSER})


def paths(hits):
    return [hit.path for hit in hits]


def test_a_view_that_is_named_is_left_out(client, hits, configure):
    configure(EXCLUDE_VIEWS=["order", "tests.accesslog.urls.who"])
    for path in ("/orders/7/", "/page/", "/nowhere/"):
        client.get(path)
    assert paths(hits) == ["/page/", "/nowhere/"]


def test_a_view_without_a_name_is_named_by_its_path(client, hits, configure):
    configure(EXCLUDE_VIEWS=["tests.accesslog.urls.suspicious"])
    client.get("/suspicious/")
    assert paths(hits) == []


def test_a_status_is_left_out(client, hits, configure):
    configure(EXCLUDE_STATUS=[404, 301])
    for path in ("/page", "/nowhere/", "/odd/", "/page/"):  # /odd/ answers with an HTTPStatus
        client.get(path)
    assert paths(hits) == ["/page/"]


def test_only_some_methods_are_kept(client, hits, configure):
    configure(METHODS=["get", "OPTIONS"])
    for method in ("GET", "POST", "OPTIONS"):  # the last is among EXCLUDE_METHODS
        client.generic(method, "/page/")
    assert [hit.method for hit in hits] == ["GET"]


def test_a_function_decides(client, hits, configure):
    configure(FILTER=lambda request, response: request.path != "/page/" and response.status_code == 200)
    for path in ("/page/", "/nowhere/", "/orders/7/"):
        client.get(path)
    assert paths(hits) == ["/orders/7/"]


def keep_what_is_small(request, response):
    return None if len(response.content) < 6 else False


def test_only_false_leaves_a_request_out_and_a_path_is_a_function(client, hits, configure):
    configure(FILTER="tests.accesslog.test_exclusions.keep_what_is_small")
    for path in ("/page/", "/secret/"):
        client.get(path)
    assert paths(hits) == ["/page/"]


def test_a_request_without_an_answer_is_shown_to_the_function_too(client, hits, configure):
    seen = []
    configure(FILTER=lambda request, response: seen.append(response))
    with pytest.raises(SystemExit):
        client.get("/leaves/")
    assert seen == [None]
    assert [hit.status for hit in hits] == [500]


def test_a_function_that_raises_keeps_the_request(client, hits, configure, caplog):
    configure(FILTER=lambda request, response: 1 / 0)
    assert client.get("/page/").status_code == 200
    assert paths(hits) == ["/page/"]


def test_bots_can_be_skipped(client, hits, configure):
    configure(BOTS="skip")
    client.get("/page/")
    for agent in ("Googlebot/2.1", "", "curl/8.5 " + "x" * 10_000):
        client.get("/page/", headers={"user-agent": agent})
    assert [hit.user_agent for hit in hits] == [BROWSER]


def test_bots_need_not_be_told_apart(client, stored):
    from django_locqueue.accesslog.models import AccessLog

    stored(BOTS="same")
    client.get("/page/", headers={"user-agent": "Googlebot/2.1"})
    assert not AccessLog.objects.get().is_bot


@pytest.mark.parametrize("path", ["/unlogged/", "/opts-out/"])
def test_a_view_or_a_request_can_leave_itself_out(client, hits, path):
    assert client.get(path).status_code == 200
    client.get("/page/")
    assert paths(hits) == ["/page/"]


async def test_so_can_an_async_view(hits, site):
    assert (await AsyncClient().get("/async-unlogged/")).content == b"unlogged"
    assert paths(hits) == []
