"""What is opened with a spreadsheet runs nothing there."""

import csv

import pytest
from django.test import Client

from tests.pages.addresses import ADDRESSES
from tests.pages.conftest import signed_in
from tests.pages.world import World

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

FORMULA = "=1+1"


def cells_of(client: Client, url: str) -> list[str]:
    text = b"".join(client.get(url)).decode()
    return [cell for row in csv.reader(text.splitlines()) for cell in row]


def test_no_cell_is_a_formula() -> None:
    world, client = World(FORMULA), signed_in(superuser=True)
    names = [name for name in ADDRESSES if name.endswith("_export")]
    assert len(names) > 5
    for name in names:
        cells = cells_of(client, ADDRESSES[name].url(name, world))
        assert any(FORMULA in cell for cell in cells), name
        assert [cell for cell in cells if cell.startswith(tuple("=+-@\t\r"))] == [], name
