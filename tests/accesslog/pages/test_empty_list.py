"""What the list of requests says when it is empty."""

from typing import Any

import pytest
from django.test import Client

from tests.accesslog.pages.rows import LIST, entry, html_of

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


@pytest.mark.parametrize(("installed", "said"), [(True, "A worker stores them:"), (False, "to MIDDLEWARE")])
def test_an_empty_log_says_what_is_missing(admin_client: Client, settings: Any, installed: bool, said: str) -> None:
    if not installed:
        settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "accesslog" not in name]
    html = html_of(admin_client, LIST)
    assert "No requests logged yet." in html
    assert said in html


def test_a_list_that_is_narrowed_to_nothing_says_so(admin_client: Client) -> None:
    entry()
    assert "No request matches." in html_of(admin_client, f"{LIST}?status_class=5")
