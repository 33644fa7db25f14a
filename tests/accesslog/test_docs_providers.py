"""The examples of docs/accesslog.md about providers run as they stand."""

import ipaddress
import re
from pathlib import Path

import pytest

from django_locqueue.accesslog.geo.checks import check_geo
from django_locqueue.accesslog.geo.registry import BUILT_IN, make

DOCS = Path(__file__).parents[2].joinpath("docs/accesslog.md").read_text()
SECTION = DOCS.partition("## Providers of locations\n")[2].partition("\n## ")[0]
SETTINGS, DESCRIPTION, OWN = re.findall(r"^```python\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE)


def run(block, **names):
    exec(compile(block, "docs/accesslog.md", "exec"), names)
    return names


@pytest.mark.parametrize("block", [SETTINGS, DESCRIPTION])
def test_settings_can_be_copied(site, block):
    site.LOCQUEUE = run(block)["LOCQUEUE"]
    assert check_geo() == []


def test_a_described_service_is_a_provider(site):
    assert make(run(DESCRIPTION)["IPAPI_CO"]).name == "ipapi.co"


def test_an_own_provider_knows_its_networks(site):
    offices = run(OWN, __name__="shop.geo", OUR_NETWORK=ipaddress.ip_network("49.65.250.0/24"))["Offices"]()
    assert offices.lookup(ipaddress.ip_address("49.65.250.1")).city == "南京"
    assert offices.lookup(ipaddress.ip_address("8.8.8.8")) is None


def test_every_provider_is_in_the_table():
    rows = "".join(line.split("|")[1] for line in SECTION.splitlines() if line.startswith("| `"))
    assert re.findall("`([a-z-]+)`", rows) == list(BUILT_IN)
