"""The page of one address."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from django_locqueue.accesslog.admin import address_page
from tests.accesslog.pages.rows import LIST, entry, html_of, minutes_ago

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

PAGE = f"{LIST}address/49.65.250.135/"


def rankings(client: Client, page: str = PAGE) -> dict[str, list[tuple[str, float]]]:
    """Return label and number of each line, by heading."""
    found = client.get(page).context["rankings"]
    return {ranking.heading: [(rank.label, rank.value) for rank in ranking.ranks] for ranking in found}


def test_it_says_what_the_address_asked_for_and_as_whom(admin_client: Client, place: Any) -> None:
    alice = get_user_model().objects.create(username="alice")
    entry(path="/a", user=alice, status=500, user_agent="Mozilla")
    entry(path="/a")
    entry(path="/b")
    entry(path="/c", ip="49.65.250.7")  # a neighbour
    found = rankings(admin_client)
    assert found["Path"] == [("/a", 2), ("/b", 1)]
    assert found["Status"] == [("200", 2), ("500", 1)]
    assert found["User"] == [("not signed in", 2), ("alice", 1)]
    assert dict(found["Agent"]) == {"Mozilla": 1, "–": 2}


def test_it_says_where_and_when(admin_client: Client, place: Any) -> None:
    entry(time=minutes_ago(180))
    entry(time=minutes_ago(10))
    html = html_of(admin_client, PAGE)
    for text in ("中国 · 江苏 · 南京 电信", "49.65.250.0/24", "3 hours ago", "10 minutes ago"):
        assert text in html.replace("\xa0", " ")


def test_its_bars_are_of_the_last_24_hours(admin_client: Client) -> None:
    entry(time=minutes_ago(60), status=503)
    entry(time=minutes_ago(26 * 60))
    bars = admin_client.get(PAGE).context["chart"].bars
    assert [(bar.column.value, bar.column.errors) for bar in bars if bar.column.value] == [(1, 1)]
    assert len(bars) == 24


def test_a_sampled_request_counts_for_those_it_stands_for(admin_client: Client) -> None:
    entry(path="/a", weight=10)
    assert rankings(admin_client)["Path"] == [("/a", 10)]


def test_it_looks_at_no_more_than_its_newest_rows(admin_client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(address_page, "MOST_ROWS", 2)
    for number in range(3):
        entry(path=f"/{number}", time=minutes_ago(number))
    assert rankings(admin_client)["Path"] == [("/0", 1), ("/1", 1)]
    assert "newest 2" in html_of(admin_client, PAGE)


def test_an_address_that_never_came_has_a_page(admin_client: Client) -> None:
    assert "No request from this address" in html_of(admin_client, f"{LIST}address/2001:db8::1/")


@pytest.mark.parametrize("text", ["example.com", "999.1.1.1", "49.65.250"])
def test_what_is_no_address_has_none(admin_client: Client, text: str) -> None:
    assert admin_client.get(f"{LIST}address/{text}/").status_code == 404


def test_the_list_leads_to_it(admin_client: Client) -> None:
    entry()
    assert f'href="{PAGE}"' in html_of(admin_client, LIST)
