"""Files and services in one chain: who is asked for what."""

from ipaddress import ip_address

import pytest

from django_locqueue.accesslog.geo import chain
from django_locqueue.accesslog.geo.chain import Chain, current_chain
from django_locqueue.accesslog.geo.data_version import LENGTH, data_version
from django_locqueue.accesslog.geo.dummy import Dummy
from django_locqueue.accesslog.geo.errors import GeoError
from django_locqueue.accesslog.geo.provider import OfflineProvider
from django_locqueue.accesslog.geo.reserved import Reserved
from tests.accesslog import services
from tests.accesslog.services import Told

NANJING, SYDNEY, NOWHERE = map(ip_address, ("49.65.250.1", "1.1.1.1", "9.9.9.9"))
PLACES = {
    "49.65.250.0/24": {"country_code": "CN", "country": "中国", "city": "南京"},
    "1.1.1.0/24": {"country_code": "AU", "country": "澳大利亚"},
}
FILE = Dummy(PLACES)


@pytest.fixture(autouse=True)
def nobody_asked():
    services.asked.clear()
    yield
    assert services.asked == []  # that is a task's business


def test_a_service_is_not_asked_for_what_a_file_before_it_knows():
    found = Chain([Reserved(), FILE, Told("amap")]).find([NANJING, NOWHERE, ip_address("10.0.0.1")])
    assert found.services == {"amap": [NOWHERE]}
    assert found.places[NANJING].city == "南京"
    assert found.unknown == []


def test_a_service_that_stands_before_a_file_is_asked_first():
    found = Chain([Reserved(), Told("amap"), FILE]).find([NANJING, NOWHERE])
    assert found.services == {"amap": [NANJING, NOWHERE]}
    assert found.places == {}


def test_behind_a_service_the_chain_goes_on():
    found = Chain([Told("amap"), FILE, Told("baidu")]).find([NANJING, NOWHERE], behind="amap")
    assert (list(found.places), found.services) == ([NANJING], {"baidu": [NOWHERE]})


def test_behind_the_last_nobody_knows():
    assert Chain([FILE, Told("amap")]).find([NANJING], behind="amap").unknown == [NANJING]


def test_a_service_gets_only_the_kind_of_addresses_that_it_serves():
    address = ip_address("2400:3200::1")
    found = Chain([Told("amap", families=frozenset({4})), Told("baidu")]).find([NANJING, address])
    assert found.services == {"amap": [NANJING], "baidu": [address]}


def test_a_service_of_one_country_is_not_asked_for_what_a_file_places_in_another():
    found = Chain([Told("amap", countries=frozenset({"CN"})), FILE]).find([NANJING, SYDNEY, NOWHERE])
    assert found.services == {"amap": [NANJING, NOWHERE]}
    assert found.places[SYDNEY].country == "澳大利亚"


class Versioned(OfflineProvider):
    def __init__(self, name, version):
        self.name, self.text = name, version

    def lookup(self, address):
        return None

    def version(self):
        if self.text is None:
            raise GeoError("no such file")
        return self.text


def test_the_data_version_names_the_files_and_no_service():
    providers = [Versioned("xdb", "2024-02-28"), Told("amap"), Versioned("iptocc", "")]
    assert data_version(providers) == "xdb 2024-02-28, iptocc"


def test_a_long_data_version_fits_its_column_and_is_still_another_than_the_next():
    first, second = (
        data_version([Versioned(f"p{n}", "v" * 60) for n in range(4)] + [last])
        for last in (Versioned("x", "1"), Versioned("x", "2"))
    )
    assert len(first) == len(second) == LENGTH
    assert first != second


def test_there_is_no_data_version_while_a_file_cannot_be_read():
    with pytest.raises(GeoError):
        data_version([Versioned("xdb", None)])


def test_a_provider_that_cannot_be_made_is_left_out_and_shows_no_key(configure, caplog, monkeypatch):
    monkeypatch.setattr(chain.logger, "_next", {})
    configure(GEO={"PROVIDERS": ["reserved", {"provider": "tests.accesslog.services.Broken", "key": "secret"}]})
    found = current_chain()
    assert [provider.name for provider in found.providers] == ["reserved"]
    assert not found.is_whole
    assert "a provider cannot be made (KeyError)" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("providers", [None, 7])
def test_what_is_no_list_of_providers_fails_nothing(configure, providers):
    configure(GEO={"PROVIDERS": providers})
    assert current_chain().find([NANJING]).unknown == [NANJING]
