"""What is sent to each service, and that its key is shown nowhere. The services are stubs on loopback."""

import hashlib
import json
import logging
import traceback
from ipaddress import ip_address

import pytest
import urllib3

from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.registry import make
from tests.accesslog.replies import ABROAD, IN_NANJING, KEY, NANJING, SERVICES
from tests.accesslog.stub_api import Reply, StubApi


@pytest.fixture
def sent(configure):
    """Return a function that asks a provider with some addresses, and returns the calls that were made."""

    def ask_and_look(name, *addresses, **options):
        with StubApi(Reply(NANJING[name])) as api:
            provider = make({"provider": name, "key": KEY, "url": f"{api.url}/where", **options})
            provider.lookup_many([ip_address(address) for address in addresses])
            return api.calls

    return ask_and_look


def test_the_address_and_the_key_are_in_the_query(sent):
    (call,) = sent("baidu", "49.65.250.135")
    assert (call.method, call.path, call.query) == ("GET", "/where", {"ip": "49.65.250.135", "ak": KEY})


def md5(words):
    return hashlib.md5(words.encode()).hexdigest()


SECRET = "a-s3cret-beside-it"


@pytest.mark.parametrize(
    ("name", "parameter", "signature"),
    [
        ("amap", "sig", md5(f"ip=49.65.250.135&key={KEY}{SECRET}")),
        ("tencent", "sig", md5(f"/where?ip=49.65.250.135&key={KEY}{SECRET}")),
        ("baidu", "sn", md5(f"%2Fwhere%3Fip%3D49.65.250.135%26ak%3D{KEY}{SECRET}")),
    ],
)
def test_a_key_with_a_secret_signs_what_it_asks(sent, name, parameter, signature):
    (call,) = sent(name, "49.65.250.135", secret=SECRET)
    assert call.query[parameter] == signature
    assert SECRET not in str(call)


def test_a_signature_is_that_of_baidus_own_example(configure):
    baidu = make({"provider": "baidu", "key": "yourak", "url": "https://api.map.baidu.com/geocoder/v2/"})
    params = {"address": "百度大厦", "output": "json", "ak": "yourak"}
    assert baidu.signed(params, "yoursk")["sn"] == "7de5a22212ffaa9e326444c75a58f9a0"


def test_a_batch_is_one_call(sent):
    (call,) = sent("ip-api", "49.65.250.135", "8.8.8.8", "2400:3200::1")
    assert json.loads(call.body) == ["49.65.250.135", "8.8.8.8", "2400:3200::1"]
    assert call.query["lang"] == "zh-CN"
    assert call.headers["Content-Type"] == "application/json"


def test_a_token_is_in_its_header(sent):
    (call,) = sent("ipinfo", "49.65.250.135")
    assert call.headers["Authorization"] == f"Bearer {KEY}"
    assert call.query == {}


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.1.2.3", "100.64.0.1", "169.254.1.1", "::1", "2001:db8::1", "240.0.0.1"]
)
@pytest.mark.parametrize("name", SERVICES)
def test_i10_addresses_that_are_not_public_are_never_sent(sent, name, address):
    assert sent(name, address) == []


def test_an_address_of_the_wrong_family_is_not_sent(sent):
    assert sent("amap", "2400:3200::1") == []


def test_more_addresses_than_one_call_takes_are_refused(configure):
    provider = make({"provider": "amap", "key": KEY})
    with pytest.raises(ValueError, match="takes 1 addresses in one call, got 2"):
        provider.lookup_many([IN_NANJING, ABROAD])


# The key


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"", status=500),
        Reply(b"", status=403),
        Reply({"status": "0", "infocode": KEY, "message": KEY}),
        Reply([{"query": str(IN_NANJING), "status": KEY, "message": KEY}]),
        Reply(b"{", never_ends=True),
        Reply(b"x" * 1_000_000),
    ],
    ids=["500", "403", "echo", "echo in a list", "timeout", "1 MB"],
)
def test_no_error_and_no_log_shows_the_key(ask, name, reply, caplog):
    caplog.set_level(logging.DEBUG)
    shown = context = None
    try:
        ask(name, reply)
    except GeoError as error:
        shown, context = "".join(traceback.format_exception(error)), error.__context__
    assert context is None  # it could have the URL
    assert KEY not in f"{shown}{caplog.text}"


def test_other_calls_by_urllib3_are_logged_as_ever(caplog):
    caplog.set_level(logging.DEBUG)
    with StubApi(Reply({})) as api, urllib3.PoolManager() as manager:
        manager.request("GET", f"{api.url}/mine")
    assert "/mine" in caplog.text


def test_a_provider_does_not_show_its_key(configure):
    provider = make({"provider": "amap", "key": KEY})
    assert KEY not in f"{provider!r} {provider}"
