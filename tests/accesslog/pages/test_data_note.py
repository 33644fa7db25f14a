"""Whose location data are shown."""

from typing import Any

import pytest
from django.test import Client

from tests.accesslog.pages.rows import ANALYTICS, LIST, entry, html_of

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

LOCATIONS = "/admin/locqueue_accesslog/location/"
PAGES = [
    LIST,
    f"{LIST}{{}}/change/",
    f"{LIST}address/49.65.250.135/",
    ANALYTICS,
    LOCATIONS,
    f"{LOCATIONS}49.65.250.0_2F24/change/",
]


@pytest.mark.parametrize("page", PAGES)
def test_each_page_with_places_links_to_them(admin_client: Client, place: Any, page: str) -> None:
    html = html_of(admin_client, page.format(entry().pk))
    assert html.count("IP location data:") == 1
