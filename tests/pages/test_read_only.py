"""In read-only mode everything is there to be looked at, and nobody changes anything."""

from typing import Any

import pytest
from django.test import Client

from tests.pages.addresses import ADDRESSES
from tests.pages.crawling import crawl
from tests.pages.reading import Page
from tests.pages.test_permissions import rows
from tests.pages.world import World

LOOKING = tuple(f"/{name.rpartition('_')[2]}/" for name, address in ADDRESSES.items() if address.only_shows)

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


@pytest.fixture
def read_only(settings: Any) -> None:
    settings.LOCQUEUE = {**settings.LOCQUEUE, "ADMIN": {"READ_ONLY": True}}


def test_no_page_has_a_button_that_changes_something(read_only: None, world: World, root: Client) -> None:
    shown = crawl(root, world)
    assert len(shown) > 50
    assert {
        url: found
        for url, html in shown.items()
        if (found := [button for button in Page(html).buttons if not button.endswith(LOOKING)])
    } == {}


@pytest.mark.parametrize("name", [name for name, address in ADDRESSES.items() if not address.only_shows])
def test_nothing_is_changed(name: str, read_only: None, world: World, root: Client) -> None:
    address = ADDRESSES[name]
    before = rows()
    response = root.post(address.url(name, world), {**address.posted, "post": "yes"})
    assert response.status_code == 403
    assert rows() == before


def test_it_can_depend_on_who_asks(settings: Any, world: World, root: Client) -> None:
    from_outside = {"READ_ONLY": lambda request: request.META["REMOTE_ADDR"] != "10.0.0.1"}
    settings.LOCQUEUE = {**settings.LOCQUEUE, "ADMIN": from_outside}
    url = ADDRESSES["locqueue_queue_pause"].url("locqueue_queue_pause", world)
    assert root.post(url, {"confirmed": "yes"}).status_code == 403
    assert root.post(url, {"confirmed": "yes"}, REMOTE_ADDR="10.0.0.1").status_code == 302
