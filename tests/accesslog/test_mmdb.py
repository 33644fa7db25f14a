"""MaxMind DB files, as several makers write them."""

import datetime
from contextlib import suppress
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.mmdb import Mmdb
from django_locqueue.accesslog.geo.registry import make
from django_locqueue.accesslog.geo.result import GeoResult
from tests.accesslog.mmdb_builder import build_mmdb

NANJING = {
    "country": {"iso_code": "CN", "names": {"en": "China", "zh-CN": "中国"}},
    "subdivisions": [{"iso_code": "JS", "names": {"en": "Jiangsu", "zh-CN": "江苏省"}}],
    "city": {"names": {"en": "Nanjing", "zh-CN": "南京"}},
    "location": {"latitude": 32.0607, "longitude": 118.763},
}
FLAT = {
    "country_code": "CN",
    "state1": "Jiangsu",
    "state2": "",
    "city": "Nanjing",
    "latitude": 32.06,
    "longitude": 118.76,
}
LITE = {"country": "Australia", "country_code": "AU", "as_name": "Cloudflare, Inc.", "as_domain": "cloudflare.com"}


def place_of(provider, address):
    return provider.lookup(ip_address(address))


def test_a_record_as_maxmind_writes_it(tmp_path):
    mmdb = Mmdb([build_mmdb(tmp_path / "x.mmdb", {"49.65.250.0/24": NANJING})])
    assert place_of(mmdb, "49.65.250.135") == GeoResult(
        "mmdb", "CN", "中国", "江苏", "南京", latitude=32.0607, longitude=118.763
    )


def test_a_flat_record_as_ip_location_db_writes_it(tmp_path):
    mmdb = Mmdb([build_mmdb(tmp_path / "x.mmdb", {"49.65.250.0/24": FLAT}, "city ipv4", ip_version=4)])
    assert place_of(mmdb, "49.65.250.135") == GeoResult(
        "mmdb", "CN", "", "Jiangsu", "Nanjing", latitude=32.06, longitude=118.76
    )


def test_a_flat_record_as_ipinfo_writes_it(tmp_path):
    mmdb = Mmdb([build_mmdb(tmp_path / "x.mmdb", {"1.1.1.0/24": LITE})])
    assert place_of(mmdb, "1.1.1.1") == GeoResult("mmdb", "AU", "Australia", isp="Cloudflare, Inc.")


def test_names_are_in_the_first_language_that_there_is(tmp_path):
    path = build_mmdb(tmp_path / "x.mmdb", {"49.65.250.0/24": NANJING})
    assert place_of(Mmdb([path], languages=["fr", "en"]), "49.65.250.1").city == "Nanjing"
    assert place_of(Mmdb([path], languages=["fr"]), "49.65.250.1") == GeoResult(
        "mmdb", "CN", latitude=32.0607, longitude=118.763
    )


def test_files_are_asked_in_their_order(tmp_path):
    v4 = build_mmdb(tmp_path / "v4.mmdb", {"49.65.250.0/24": NANJING}, ip_version=4)
    both = build_mmdb(tmp_path / "v6.mmdb", {"49.65.0.0/16": FLAT, "2400:3200::/32": FLAT})
    mmdb = Mmdb([v4, both])
    assert place_of(mmdb, "49.65.250.1").city == "南京"
    assert place_of(mmdb, "49.65.1.1").city == "Nanjing"
    assert place_of(mmdb, "2400:3200::1").city == "Nanjing"


@pytest.mark.parametrize("address", ["9.9.9.9", "2400:3200::1", "10.0.0.1", "::1"])
def test_i10_what_an_ipv4_file_does_not_know_is_not_found(tmp_path, address):
    mmdb = Mmdb([build_mmdb(tmp_path / "x.mmdb", {"49.65.250.0/24": NANJING}, ip_version=4)])
    assert place_of(mmdb, address) is None


@pytest.mark.parametrize(
    "record", [{}, {"country": {}}, {"country": {"names": {}}}, {"country_code": "-"}, {"city": ""}]
)
def test_i10_a_record_that_says_nothing_is_not_found(tmp_path, record):
    mmdb = Mmdb([build_mmdb(tmp_path / "x.mmdb", {"49.65.250.0/24": record})])
    assert place_of(mmdb, "49.65.250.1") is None


@pytest.mark.parametrize("content", [b"", b"not a database", b"\xab\xcd\xefMaxMind.com"])
def test_i10_a_file_that_is_none_is_refused_with_its_name(tmp_path, content):
    path = tmp_path / "x.mmdb"
    path.write_bytes(content)
    with pytest.raises(GeoError, match=r"x\.mmdb cannot be read"):
        Mmdb([path]).built()


def test_i10_a_missing_file_is_refused(tmp_path):
    with pytest.raises(GeoError, match="cannot be read"):
        place_of(Mmdb([tmp_path / "x.mmdb"]), "8.8.8.8")


@given(st.data())
def test_no_damage_within_a_file_makes_the_reader_crash(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("mmdb") / "x.mmdb"
    build_mmdb(path, {"49.65.250.0/24": NANJING, "128.0.0.0/1": FLAT})
    content = bytearray(path.read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=8)):
        content[-1 - place] = data.draw(st.integers(0, 255))  # from the end, where the records and the metadata are
    path.write_bytes(content)
    with suppress(GeoError):
        mmdb = Mmdb([path])
        mmdb.lookup(ip_address("49.65.250.1"))
        mmdb.lookup(ip_address("200.1.1.1"))
        mmdb.attributions()


def test_a_key_that_is_none_is_an_error_and_does_not_end_the_process(tmp_path):
    path = build_mmdb(tmp_path / "x.mmdb", {"49.65.250.0/24": {"country_code": "CN"}})
    content = path.read_bytes()
    # A text of 12 letters begins with 0x4c; 0xc4 would be an unsigned number of 4 bytes.
    path.write_bytes(content.replace(b"\x4ccountry_code", b"\xc4country_code"))
    assert place_of(Mmdb([path]), "49.65.250.1") is None


def test_no_files_are_refused(configure):
    with pytest.raises(GeoError, match="give a list of paths"):
        make("mmdb")
    with pytest.raises(GeoError, match="give a list of paths"):
        make({"provider": "mmdb", "paths": "/one/path"})


def test_the_files_are_those_of_the_settings(configure, tmp_path):
    configure(GEO={"MMDB": [build_mmdb(tmp_path / "x.mmdb", {"49.65.250.0/24": NANJING})]})
    assert place_of(make("mmdb"), "49.65.250.1").city == "南京"


def test_the_version_is_the_days_of_the_files(tmp_path):
    days = [datetime.date(2026, 10, 1), datetime.date(2026, 11, 1)]
    mmdb = Mmdb([build_mmdb(tmp_path / f"{day}.mmdb", {"8.8.8.0/24": FLAT}, built=day) for day in reversed(days)])
    assert sorted(mmdb.built()) == days
    assert mmdb.version() == "2026-10-01 2026-11-01"


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("DBIP-City-Lite", ["IP Geolocation by DB-IP"]),
        ("GeoLite2-City", ["This product includes GeoLite Data created by MaxMind, available from maxmind.com"]),
        ("ipinfo_lite.mmdb", ["IP address data powered by IPinfo"]),
        ("my own", []),
    ],
)
def test_who_made_the_data_is_named(tmp_path, kind, texts):
    mmdb = Mmdb([build_mmdb(tmp_path / "x.mmdb", {"8.8.8.0/24": FLAT}, kind)])
    assert [attribution.text for attribution in mmdb.attributions()] == texts


def test_a_file_is_known_by_its_name_too(tmp_path):
    mmdb = Mmdb([build_mmdb(tmp_path / "dbip-city-ipv4.mmdb", {"8.8.8.0/24": FLAT}, "city ipv4")])
    assert [attribution.url for attribution in mmdb.attributions()] == ["https://db-ip.com"]
