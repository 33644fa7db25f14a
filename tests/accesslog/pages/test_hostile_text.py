"""Whatever a visitor sends, a page shows it as text."""

from typing import Any

import pytest
from django.test import Client

from tests.accesslog.pages.rows import ANALYTICS, LIST, count_all, entry, html_of, located

pytestmark = pytest.mark.django_db

EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7|add:7 }}",
    "javascript:alert(1)",
    "/\u202egnp.exe",
    "</title><svg/onload=alert(1)>",
]
HARMFUL = ("<script>alert", "<img src=x", "<svg/onload", ">14<", 'href="javascript', "\u202e")


@pytest.mark.parametrize("evil", EVIL)
def test_no_page_runs_what_a_visitor_sent(admin_client: Client, evil: str) -> None:
    place: dict[str, Any] = dict.fromkeys(("country", "province", "city", "district", "isp"), evil)
    located("49.65.250.0/24", **place)
    row = entry(
        method=evil[:16],
        host=evil,
        path=evil,
        action=evil,
        route=evil,
        query=evil,
        user_agent=evil,
        referer=f"https://{evil}/{evil}",
    )
    count_all()
    for page in (LIST, ANALYTICS, f"{LIST}{row.pk}/change/", f"{LIST}address/49.65.250.135/"):
        html = html_of(admin_client, page)
        assert [text for text in HARMFUL if text in html] == [], page


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
def test_no_filter_fails_on_what_it_is_given(admin_client: Client, query: str) -> None:
    response = admin_client.get(LIST + query, follow=True)
    assert response.status_code == 200
    assert "<script>alert" not in response.content.decode()


@pytest.mark.parametrize(
    "query", ["?period=1y", "?compare=maybe", "?bots=%00", "?country=%00<script>alert(1)", "?province=|||", "?x=y"]
)
def test_analytics_take_any_address(admin_client: Client, query: str) -> None:
    assert "<script>alert" not in html_of(admin_client, ANALYTICS + query)
