"""Whatever a visitor sends, a page shows it as text."""

import pytest
from django.test import Client

from tests.accesslog.pages.rows import ANALYTICS, LIST, html_of

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "query",
    [
        "?path_is=%00",
        "?country=%00",
        "?place=||||",
        "?network_operator=<script>alert(1)</script>",
        "?behind=99999999999999999999",
        "?behind=x",
        "?since=now",
        "?since=0001-01-01T00:00",
        "?until=9999-12-31T23:59",
        "?since=%EF%BC%91",
    ],
)
def test_g1_no_filter_fails_on_what_it_is_given(admin_client: Client, query: str) -> None:
    response = admin_client.get(LIST + query, follow=True)
    assert response.status_code == 200
    assert "<script>alert" not in response.content.decode()


@pytest.mark.parametrize(
    "query", ["?period=1y", "?compare=maybe", "?bots=%00", "?country=%00<script>alert(1)", "?province=|||", "?x=y"]
)
def test_analytics_take_any_address(admin_client: Client, query: str) -> None:
    assert "<script>alert" not in html_of(admin_client, ANALYTICS + query)
