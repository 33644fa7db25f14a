"""What each service says, as its documentation has it, and what becomes of it. The services are stubs on loopback."""

import os
import shutil
import subprocess
from ipaddress import ip_address

import pytest

from django_locqueue.accesslog.geo.errors import GeoError, ProviderDenied, QuotaExhausted, RateLimited, Transient
from django_locqueue.accesslog.geo.http_client import HttpClient
from django_locqueue.accesslog.geo.registry import make
from django_locqueue.accesslog.geo.result import GeoResult
from tests.accesslog.replies import ABROAD, IN_NANJING, KEY, NANJING, SERVICES, amap, amap_refuses, baidu, tencent
from tests.accesslog.stub_api import Reply, StubApi


@pytest.fixture
def failure(ask):
    """Return a function that asks as ``ask`` does, and returns the error."""

    def send(*args, **options):
        with pytest.raises(GeoError) as caught:
            ask(*args, **options)
        return caught.value

    return send


PLACES = {
    "amap": GeoResult("amap", "CN", "中国", "江苏", "南京", adcode="320100"),
    "baidu": GeoResult("baidu", "CN", "中国", "江苏", "南京", adcode="320100"),
    "tencent": GeoResult("tencent", "CN", "中国", "江苏", "南京", "玄武区", adcode="320102"),
    "ip-api": GeoResult("ip-api", "CN", "中国", "江苏", "南京", isp="Chinanet", latitude=32.0607, longitude=118.763),
    "ipinfo": GeoResult(
        "ipinfo", "CN", "", "Jiangsu", "Nanjing", isp="CHINANET-BACKBONE", latitude=32.0617, longitude=118.7778
    ),
}


@pytest.mark.parametrize("name", SERVICES)
def test_an_answer_becomes_a_place(ask, name):
    assert ask(name, Reply(NANJING[name])).places == {IN_NANJING: PLACES[name]}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("amap", amap()),
        ("amap", amap(province="局域网")),
        ("baidu", {"status": 1, "message": "Internal Service Error:ip[8.8.8.8] loc failed"}),
        ("baidu", baidu(province="", city="", district="", adcode="0")),
        ("tencent", {"status": 375, "message": "局域网IP，定位失败"}),
        ("tencent", tencent(nation="", province="", city="", district="", adcode=-1)),
        ("ip-api", [{"query": "8.8.8.8", "status": "fail", "message": "reserved range"}]),
        ("ip-api", [{"query": "8.8.8.8", "status": "fail", "message": "private range"}]),
        ("ipinfo", {"8.8.8.8": {"ip": "8.8.8.8", "bogon": True}}),
    ],
)
def test_i10_an_address_that_a_service_does_not_know_is_no_failure(ask, name, body):
    assert ask(name, Reply(body), ABROAD).places == {ABROAD: None}


def test_a_service_that_knows_the_country_alone_says_so(ask):
    answers = ask("tencent", Reply(tencent(nation="美国", province="", city="", district="", adcode=-1)), ABROAD)
    assert answers.places[ABROAD] == GeoResult("tencent", country="美国")


@pytest.mark.parametrize(
    ("name", "reply", "error"),
    [
        ("amap", Reply(amap_refuses("10001", "INVALID_USER_KEY")), ProviderDenied),
        ("amap", Reply(amap_refuses("10005", "INVALID_USER_IP")), ProviderDenied),
        ("amap", Reply(amap_refuses("10007", "INVALID_USER_SIGNATURE")), ProviderDenied),
        ("amap", Reply(amap_refuses("10003", "DAILY_QUERY_OVER_LIMIT")), QuotaExhausted),
        ("amap", Reply(amap_refuses("10044", "USER_DAILY_QUERY_OVER_LIMIT")), QuotaExhausted),
        ("amap", Reply(amap_refuses("10004", "ACCESS_TOO_FREQUENT")), RateLimited),
        ("amap", Reply(amap_refuses("10021", "CUQPS_HAS_EXCEEDED_THE_LIMIT")), RateLimited),
        ("amap", Reply(amap_refuses("10016", "SERVER_IS_BUSY")), Transient),
        ("amap", Reply(amap_refuses("20003", "UNKNOWN_ERROR")), Transient),
        ("baidu", Reply({"status": 1, "message": "Internal Service Error"}), Transient),
        ("baidu", Reply({"status": 101, "message": "AK参数不存在"}), ProviderDenied),
        ("baidu", Reply({"status": 200, "message": "APP不存在，AK有误请检查再重试"}), ProviderDenied),
        ("baidu", Reply({"status": 211, "message": "APP SN校验失败"}), ProviderDenied),
        ("baidu", Reply({"status": 302, "message": "天配额超限，限制访问"}), QuotaExhausted),
        ("baidu", Reply({"status": 4, "message": "Quota Failure"}), QuotaExhausted),
        ("baidu", Reply({"status": 401, "message": "当前并发量已经超过约定并发配额，限制访问"}), RateLimited),
        ("tencent", Reply({"status": 110, "message": "请求来源未被授权"}), ProviderDenied),
        ("tencent", Reply({"status": 311, "message": "key格式错误"}), ProviderDenied),
        ("tencent", Reply({"status": 120, "message": "此key每秒请求量已达到上限"}), RateLimited),
        ("tencent", Reply({"status": 121, "message": "此key每日调用量已达到上限"}), QuotaExhausted),
        ("tencent", Reply({"status": 310, "message": "请求参数信息有误"}), Transient),
        ("ip-api", Reply(b"", status=429, headers={"X-Rl": "0", "X-Ttl": "7"}), RateLimited),
        ("ip-api", Reply(b"", status=403), ProviderDenied),
        ("ip-api", Reply(b"", status=422), Transient),
        ("ip-api", Reply({"status": "fail", "message": "something else"}), Transient),
        ("ipinfo", Reply({"status": 429, "error": {"title": "Rate limit exceeded"}}, status=429), QuotaExhausted),
        ("ipinfo", Reply({"status": 403, "error": {"title": "Unknown token"}}, status=403), ProviderDenied),
        ("ipinfo", Reply([], status=401), ProviderDenied),
    ],
)
def test_i11_a_refusal_says_what_is_to_be_done(failure, name, reply, error):
    assert type(failure(name, reply)) is error


@pytest.mark.parametrize(
    ("name", "reply", "seconds"),
    [
        ("amap", Reply(b"", status=429, headers={"Retry-After": "30"}), 30),
        ("amap", Reply(b"", status=429), 60),
        ("amap", Reply(b"", status=429, headers={"Retry-After": "soon"}), 60),
        ("amap", Reply(b"", status=429, headers={"Retry-After": "-5"}), 60),
        ("amap", Reply(b"", status=429, headers={"Retry-After": "1e300"}), 86_400),
        ("amap", Reply(b"", status=503, headers={"Retry-After": "30"}), 30),
        ("amap", Reply(amap_refuses("10004", "ACCESS_TOO_FREQUENT")), 60),
        ("amap", Reply(amap_refuses("10020", "CKQPS_HAS_EXCEEDED_THE_LIMIT")), 1),
        ("ip-api", Reply(b"", status=429, headers={"X-Rl": "0", "X-Ttl": "7"}), 7),
        ("ipinfo", Reply({}, status=429, headers={"Retry-After": "3600"}), 3600),
        ("amap", Reply(b"", status=500), None),
    ],
)
def test_i11_the_wait_that_a_service_asks_for_is_kept(failure, name, reply, seconds):
    assert failure(name, reply).retry_after == seconds


def test_i11_a_quota_comes_back_at_the_next_midnight(failure):
    seconds = failure("amap", Reply(amap_refuses("10003", "DAILY_QUERY_OVER_LIMIT"))).retry_after
    assert 0 < seconds <= 86_400


def test_i11_a_batch_that_was_the_last_allowed_one_is_followed_by_a_pause(ask):
    last = Reply(NANJING["ip-api"], headers={"X-Rl": "0", "X-Ttl": "13"})
    assert ask("ip-api", last).pause == 13
    assert ask("ip-api", Reply(NANJING["ip-api"], headers={"X-Rl": "4", "X-Ttl": "13"})).pause == 0


def test_the_rest_of_a_batch_is_answered_where_one_is_not(ask):
    said = [*NANJING["ip-api"], {"query": "8.8.8.8", "status": "what?"}, 7, {"query": ["1.1.1.1"]}]
    answers = ask("ip-api", Reply(said), IN_NANJING, ABROAD, ip_address("1.1.1.1"))
    assert set(answers.places) == {IN_NANJING}


# What no service should say, and some do


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(b"", status=500), "status 500"),
        (
            Reply(b"", status=301, headers={"Location": "file:///etc/passwd"}),
            "status 301, a redirect, and none is followed",
        ),
        (Reply(b"x" * 1_000_000), "has more than"),
        (Reply(b'{"status": ', never_ends=True), "no answer"),
        (Reply(b""), "0 bytes that are no JSON"),
        (Reply(b"<html>502</html>"), "no JSON"),
        (Reply(b"\xff\xfe\x00"), "no JSON"),
        (Reply(b"[" * 60_000), "no JSON"),
        (Reply(b"9" * 60_000), "no JSON"),
        (Reply(7), "a JSON int, expected"),
        (Reply(None), "a JSON NoneType, expected"),
    ],
    ids=["500", "redirect", "1 MB", "timeout", "empty", "page", "bytes", "nested", "digits", "number", "null"],
)
def test_i11_what_is_no_answer_is_asked_again(failure, name, reply, says):
    error = failure(name, reply)
    assert type(error) is Transient
    assert says in str(error)
    assert str(error).startswith(name)


@pytest.mark.parametrize("name", ["amap", "baidu", "tencent"])
def test_a_list_is_no_answer_about_one_address(failure, name):
    assert "a JSON list, expected an object" in str(failure(name, Reply([])))


def test_a_redirect_is_not_followed(configure):
    with StubApi(lambda call: Reply(b"", status=302, headers={"Location": "/elsewhere"})) as api:
        provider = make({"provider": "amap", "key": KEY, "url": api.url})
        with pytest.raises(Transient):
            provider.lookup_many([IN_NANJING])
        assert [call.path for call in api.calls] == ["/"]


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl, to make a certificate")
def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(configure, tmp_path):
    pem = tmp_path / "own.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, *names, "-keyout", pem, "-out", tmp_path / "crt"], check=True, capture_output=True)
    pem.write_bytes(pem.read_bytes() + (tmp_path / "crt").read_bytes())
    with StubApi(Reply(NANJING["amap"]), pem) as api:
        with pytest.raises(Transient, match=r"no answer \(SSLError\)"):
            make({"provider": "amap", "key": KEY, "url": api.url}).lookup_many([IN_NANJING])
        assert api.calls == []


def test_nobody_there_is_asked_again(configure):
    with StubApi(Reply({})) as api:
        url = api.url
    with pytest.raises(Transient, match="no answer"):
        make({"provider": "amap", "key": KEY, "url": url}).lookup_many([IN_NANJING])


def test_a_body_that_keeps_coming_has_an_end():
    with StubApi(Reply(b"x" * 100)) as api:
        client = HttpClient("slow", 1, 1, 65_536)
        client._total = -1.0  # as if that long had passed
        with pytest.raises(Transient, match="takes longer"):
            client.send("GET", api.url, {})


def test_a_forked_process_has_connections_of_its_own():
    with StubApi(Reply({})) as api:
        client = HttpClient("forked", 5, 5, 65_536)
        client.send("GET", api.url, {})
        mine = client._manager()
        pid = os.fork()
        if pid == 0:
            answered = client.send("GET", api.url, {}).status == 200
            os._exit(0 if answered and client._manager() is not mine else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert client._manager() is mine


def test_a_packed_body_is_not_unpacked(failure):
    assert "no JSON" in str(failure("amap", Reply(b"\x1f\x8b\x08", headers={"Content-Encoding": "gzip"})))
