"""A service that a project describes, and what is wrong with a description."""

import datetime
from ipaddress import ip_address
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_locqueue.accesslog.geo.errors import GeoError, RateLimited, Transient, retry_after, until_midnight
from django_locqueue.accesslog.geo.http_client import HttpAnswer
from django_locqueue.accesslog.geo.provider import Answers, Provider
from django_locqueue.accesslog.geo.registry import BUILT_IN, make
from django_locqueue.accesslog.geo.result import GeoResult
from tests.accesslog.stub_api import Reply, StubApi

ADDRESS = ip_address("49.65.250.135")
# ipapi.co, which has the address in the path and says what is wrong with HTTP 200, too.
DESCRIPTION = {
    "provider": "http",
    "name": "ipapi.co",
    "url": "https://ipapi.co/{ip}/json/",
    "ok": {"error": None},
    "refusals": {"reason": {"RateLimited": "day", "Reserved IP Address": "unknown"}},
    "fields": {
        "country_code": "country_code",
        "country": "country_name",
        "province": "region",
        "city": "city",
        "isp": "org",
        "latitude": "latitude",
        "longitude": "longitude",
    },
}


def test_a_described_service_is_asked(configure):
    body = {
        "ip": "49.65.250.135",
        "city": "Nanjing",
        "region": "Jiangsu",
        "country_code": "CN",
        "country_name": "China",
    }
    with StubApi(Reply(body)) as api:
        provider = make({**DESCRIPTION, "url": api.url + "/{ip}/json/"})
        answers = provider.lookup_many([ADDRESS])
        assert [call.path for call in api.calls] == ["/49.65.250.135/json/"]
    assert answers == Answers({ADDRESS: GeoResult("ipapi.co", "CN", "China", "Jiangsu", "Nanjing")})


def test_a_described_refusal_is_understood(configure):
    with StubApi(Reply({"error": True, "reason": "Reserved IP Address", "reserved": True})) as api:
        answers = make({**DESCRIPTION, "url": f"{api.url}/{{ip}}"}).lookup_many([ADDRESS])
    assert answers.places == {ADDRESS: None}


def test_a_status_can_mean_that_the_address_is_unknown(configure):
    with StubApi(Reply(b"no such address", status=404)) as api:
        provider = make({**DESCRIPTION, "url": f"{api.url}/{{ip}}", "statuses": {"404": "unknown"}})
        assert provider.lookup_many([ADDRESS]).places == {ADDRESS: None}


# The service of the article that this queue was first described in. It has closed; its answers are still good examples.
TAOBAO = {
    "provider": "http",
    "name": "taobao",
    "url": "https://ip.taobao.com/service/getIpInfo.php",
    "params": {"ip": "{ip}"},
    "ok": {"code": 0},
    "refusals": {"code": {"4": "second"}},
    "fields": {
        "country_code": "data.country_id",
        "country": "data.country",
        "province": "data.region",
        "city": "data.city",
        "district": "data.county",
        "isp": "data.isp",
    },
}


def ask_taobao(body):
    with StubApi(Reply(body)) as api:
        return make({**TAOBAO, "url": api.url}).lookup_many([ADDRESS]).places[ADDRESS]


def test_the_ways_of_saying_nothing_are_understood(configure):
    place = {"country": "中国", "country_id": "CN", "region": "江苏", "city": "南京", "county": "XX", "isp": "电信"}
    assert ask_taobao({"code": 0, "data": place}) == GeoResult("taobao", "CN", "中国", "江苏", "南京", isp="电信")
    local = {"country": "XX", "country_id": "xx", "region": "XX", "city": "内网IP", "county": "内网IP", "isp": "内网IP"}
    assert ask_taobao({"code": 0, "data": local}) is None


@pytest.mark.parametrize(("code", "error"), [(4, RateLimited), (1, Transient), (None, Transient)])
def test_i11_a_limit_that_is_told_with_status_200_is_one(configure, code, error):
    with pytest.raises(GeoError) as caught:
        ask_taobao({"code": code, "msg": "the request over max qps for user ,the accessKey=public"})
    assert type(caught.value) is error


def test_an_ipv6_address_stands_in_a_path_as_it_is(configure):
    with StubApi(Reply({"city": "Hangzhou"})) as api:
        make({**DESCRIPTION, "url": f"{api.url}/{{ip}}"}).lookup_many([ip_address("2400:3200::1")])
        assert [call.path for call in api.calls] == ["/2400:3200::1"]


def test_the_least_interval_is_that_of_the_setting_the_provider_or_the_option(configure):
    configure(GEO={"MIN_INTERVAL": 0.1})
    assert make({"provider": "amap", "key": "k"}).interval == 0.1
    assert make({"provider": "baidu", "key": "k"}).interval == 0.4
    assert make({"provider": "baidu", "key": "k", "interval": 0.01}).interval == 0.01
    assert make("ip-api").interval == 4
    assert make({"provider": "ip-api", "key": "k"}).interval == 0.1  # their paid service has no such limit


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("xbd", "Did you mean 'xdb'?"),
        ("http", "http: the url must begin with"),
        ({**DESCRIPTION, "name": "two words"}, "The name of a provider must be"),
        ({"provider": "amap"}, 'amap: it needs a "key", and has none'),
        ({"provider": "amap", "key": None}, "key, secret and url must be"),
        ({"provider": "amap", "key": "read from a file\n"}, "without line ends"),
        ({"provider": "amap", "key": "k", "secret": None}, "key, secret and url must be"),
        ({"provider": "ip-api", "key": "k", "secret": "s"}, "ip-api: its keys have no secret"),
        ({**DESCRIPTION, "key": "k", "secret": "s"}, "ipapi.co: its keys have no secret"),
        ({"provider": "amap", "key": "k", "kye": "k"}, "no option 'kye'"),
        ({**DESCRIPTION, "url": "file:///etc/passwd"}, "must begin with https:// or http://"),
        ({**DESCRIPTION, "url": "https://{ip}/json"}, "must begin with https:// or http://"),
        ({**DESCRIPTION, "url": "//ipapi.co/{ip}"}, "must begin with https:// or http://"),
        ({**DESCRIPTION, "fields": {}}, "fields must say where"),
        ({**DESCRIPTION, "fields": {"town": "city"}}, "there is no field 'town'"),
        ({**DESCRIPTION, "fields": {"city": 7}}, "fields must be a dict of"),
        ({**DESCRIPTION, "headers": ["X-Key"]}, "headers must be a dict of"),
        ({**DESCRIPTION, "refusals": {"reason": {"RateLimited": "rate"}}}, "'rate' is no refusal; there are second"),
        ({**DESCRIPTION, "refusals": {"reason": "day"}}, "refusals must be a dict of"),
        ({**DESCRIPTION, "time_zone": "Asia/Peking"}, "there is no time zone 'Asia/Peking'"),
        ({**DESCRIPTION, "interval": "1"}, "interval must be"),
        ({"name": "nameless"}, "An entry must be a name"),
        (7, "An entry must be a name"),
        ("tests.nowhere.Provider", "cannot be imported"),
        ("datetime.date", "does not take its options"),
        ("collections.Counter", "expected a subclass of Provider"),
        ({"provider": "dummy", "places": {"nowhere": {}}}, "dummy: 'nowhere' does not appear to be"),
        ({"provider": "dummy", "places": {"10.0.0.0/8": {"town": "x"}}}, "there is no field 'town'"),
    ],
)
def test_a_wrong_entry_is_refused_with_the_reason(configure, entry, says):
    with pytest.raises(GeoError) as caught:
        make(entry)
    assert says in str(caught.value)


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in ("http", "mmdb")])
def test_a_provider_is_called_as_it_is_set(configure, name):
    options = {"dummy": {"places": {}}, "reserved": {}, "xdb": {}, "iptocc": {}}.get(name, {"key": "k"})
    assert make({"provider": name, **options}).name == name


class OwnProvider(Provider):
    name = "own"

    def lookup_many(self, addresses):
        raise RateLimited("not now", 5)


def test_a_provider_of_a_project_is_named_by_its_path(configure):
    assert isinstance(make(f"{__name__}.OwnProvider"), OwnProvider)


def test_a_dummy_says_what_it_was_told(configure):
    places = {"49.65.0.0/16": {"country_code": "CN"}, "49.65.250.0/24": {"country_code": "CN", "city": "南京"}}
    dummy = make({"provider": "dummy", "places": places})
    near, elsewhere = ip_address("49.65.1.1"), ip_address("8.8.8.8")
    assert dummy.lookup_many([ADDRESS, near, elsewhere]).places == {
        ADDRESS: GeoResult("dummy", "CN", city="南京"),
        near: GeoResult("dummy", "CN"),
        elsewhere: None,
    }


# Waiting

SHANGHAI, NEW_YORK = ZoneInfo("Asia/Shanghai"), ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("now", "seconds"),
    [
        (datetime.datetime(2026, 11, 30, 23, 59, 50, tzinfo=SHANGHAI), 10),
        (datetime.datetime(2026, 11, 30, 0, 0, 0, tzinfo=SHANGHAI), 86_400),
        (datetime.datetime(2026, 3, 8, 1, 0, 0, tzinfo=NEW_YORK), 22 * 3600),  # two o'clock is left out
        (datetime.datetime(2026, 11, 1, 0, 30, 0, tzinfo=NEW_YORK), 24.5 * 3600),  # one o'clock comes twice
    ],
)
def test_the_next_midnight_is_that_of_the_service(now, seconds):
    assert until_midnight(now) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30),
        ("Mon, 30 Nov 2026 12:00:30 GMT", 30),
        ("Mon, 30 Nov 2026 12:00:30 -0000", 30),
        ("Mon, 30 Nov 2026 11:00:00 GMT", None),
        ("Mon, 99 Nov 2026 11:00:00 GMT", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        ("下午", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, seconds):
    now = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
    assert retry_after({"Retry-After": value}, now) == seconds


# Whatever a service says

keys = st.sampled_from(
    [
        *("status", "message", "infocode", "province", "city", "adcode", "content", "address_detail", "result"),
        *(
            "ad_info",
            "nation",
            "query",
            "country",
            "countryCode",
            "regionName",
            "lat",
            "lon",
            "loc",
            "org",
            "49.65.250.135",
        ),
    ]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | st.text(max_size=5), inner, max_size=6),
)
headers = st.dictionaries(st.sampled_from(["Retry-After", "X-Rl", "X-Ttl"]), st.text() | st.sampled_from(["0", "7"]))
WIDTHS = {"country_code": 2, "adcode": 12}


class Says:
    """A client whose answer is given."""

    def __init__(self, answer):
        self.answer = answer

    def send(self, *args):
        return self.answer


def outcome(provider):
    """Return what the provider answers, or the error that it raises."""
    try:
        return provider.lookup_many([ADDRESS])
    except GeoError as error:
        return error


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["amap", "baidu", "tencent", "ip-api", "ipinfo"]),
    status=st.sampled_from([200, 200, 200, 429, 403, 500, 302, 101]),
    body=anything.map(lambda said: Reply(said).encoded) | st.binary(),
    headers=headers,
)
def test_whatever_a_service_says_is_a_place_that_can_be_stored_or_a_known_error(configure, name, status, body, headers):
    provider = make({"provider": name, "key": "k"})
    provider._client = Says(HttpAnswer(status, headers, body))
    said = outcome(provider)
    if isinstance(said, GeoError):
        assert said.retry_after is None or 0 < said.retry_after <= 90_000
        return
    assert 0 <= said.pause <= 86_400
    for place in filter(None, said.places.values()):
        for field in ("country_code", "country", "province", "city", "district", "isp", "adcode"):
            value = getattr(place, field)
            assert len(value) <= WIDTHS.get(field, 64)
            assert value.isprintable()  # no NUL, which PostgreSQL refuses, and no lone surrogate
        assert place.latitude is None or -90 <= place.latitude <= 90
        assert place.longitude is None or -180 <= place.longitude <= 180
