"""The analytics page: that its numbers are those of the log, and lead to its rows."""

import datetime
import html
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from django_locqueue.accesslog.analytics.period import HOUR, hour_of
from django_locqueue.accesslog.models import AccessLog
from tests.accesslog.pages.rows import ANALYTICS, LIST, count_all, entry, html_of, located, minutes_ago

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


def page(client: Client, query: str = "") -> dict[str, Any]:
    """Count the log, and return what the page gives its template."""
    count_all()
    response: Any = client.get(ANALYTICS + query)
    assert response.status_code == 200
    context: dict[str, Any] = response.context_data
    return context


def cards(client: Client, query: str = "") -> dict[str, Any]:
    return {card.label: card for card in page(client, query)["cards"]}


def lines(ranking: Any) -> list[tuple[str, float]]:
    return [(rank.label, rank.value) for rank in ranking.ranks]


@pytest.fixture
def visits(place: Any) -> None:
    """Five requests: two from Nanjing, one from Shanghai, one from abroad, and a bot's."""
    located("1.2.3.0/24", country_code="CN", country="中国", province="上海", city="上海", isp="联通")
    located("8.8.8.0/24", country_code="US", country="美国", isp="Level3")
    entry(path="/a", duration_ms=10, action="home", referer="https://www.a.example/x")
    entry(path="/a", duration_ms=10, status=503)
    entry(path="/b", duration_ms=2000, status=404, ip="1.2.3.4", location_id="1.2.3.0/24")
    entry(path="/c", duration_ms=10, status=302, ip="8.8.8.8", location_id="8.8.8.0/24")
    entry(path="/robots", is_bot=True, ip=None, location_id=None)


def test_cards_count_without_bots(admin_client: Client, visits: Any) -> None:
    found = cards(admin_client)
    assert {name: card.value for name, card in found.items()} == {
        "Requests": "4",
        "Unique IPs": "3",
        "Server errors": "25 %",
        "p95 time": "2.0 s",
        "Bots": "20 %",
    }


def test_bots_are_counted_when_asked_for(admin_client: Client, visits: Any) -> None:
    assert cards(admin_client, "?bots=yes")["Requests"].value == "5"


def test_rankings_are_of_the_log(admin_client: Client, visits: Any) -> None:
    found = page(admin_client)["rankings"]
    assert lines(found.status) == [("2xx", 1), ("3xx", 1), ("4xx", 1), ("5xx", 1)]
    assert lines(found.paths) == [("/a", 2), ("/b", 1), ("/c", 1)]
    assert lines(found.addresses) == [("49.65.250.135", 2), ("1.2.3.4", 1), ("8.8.8.8", 1)]
    assert ("a.example", 1) in lines(found.referrers)
    countries, provinces, _cities, operators = (lines(ranking) for ranking in found.places)
    assert countries == [("中国", 3), ("美国", 1)]
    assert provinces == [("江苏", 2), ("上海", 1)]
    assert operators == [("电信", 2), ("Level3", 1), ("联通", 1)]


def test_a_country_and_a_province_can_be_looked_into(admin_client: Client, visits: Any) -> None:
    found = page(admin_client)["rankings"].places
    into_us = next(rank.into for rank in found[0].ranks if rank.label == "美国")
    assert lines(page(admin_client, into_us)["rankings"].places[1]) == [("US · Unknown", 1)]
    into_shanghai = next(rank.into for rank in found[1].ranks if rank.label == "上海")
    assert lines(page(admin_client, into_shanghai)["rankings"].places[2]) == [("上海", 1)]


def test_every_linked_number_is_the_number_of_rows_behind_it(admin_client: Client, visits: Any) -> None:
    found = page(admin_client)
    rankings = found["rankings"]
    ranked = [
        rankings.status,
        *rankings.places,
        rankings.paths,
        rankings.addresses,
        rankings.actions,
        rankings.referrers,
    ]
    numbers = [(rank.url, rank.value) for ranking in ranked for rank in ranking.ranks if rank.url]
    numbers += [(bar.column.url, bar.column.value) for bar in found["chart"].bars]
    assert len(numbers) > 30
    for url, value in numbers:
        assert len(admin_client.get(url).context["cl"].result_list) == value, url


def test_cards_lead_to_as_many_rows_as_they_say(admin_client: Client, visits: Any) -> None:
    found = cards(admin_client)
    for name, count in (("Requests", 4), ("Server errors", 1), ("Bots", 1)):
        assert len(admin_client.get(found[name].url).context["cl"].result_list) == count


def test_a_bar_is_an_hour_and_the_last_one_is_not_over(admin_client: Client) -> None:
    entry(time=minutes_ago(0))
    entry(time=minutes_ago(60), status=500)
    bars = page(admin_client)["chart"].bars
    assert len(bars) == 24
    assert [(bar.column.value, bar.column.errors) for bar in bars[-2:]] == [(1, 1), (1, 0)]
    assert [bar.column.is_partial for bar in bars[-2:]] == [False, True]


def test_a_month_has_a_bar_for_each_day(admin_client: Client, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    now = timezone.now()
    entry(time=now)
    entry(time=now - datetime.timedelta(days=3))
    bars = page(admin_client, "?period=30d")["chart"].bars
    assert 30 <= len(bars) <= 31
    assert sum(bar.column.value for bar in bars) == 2
    today = timezone.localdate(now)  # the day may end while the page is made
    assert [bar.column.label for bar in bars if bar.column.value] == [
        str(today - datetime.timedelta(days=3)),
        str(today),
    ]


def test_it_compares_with_the_time_before(admin_client: Client) -> None:
    now = hour_of(timezone.now())
    for _ in range(3):
        entry(time=now - 2 * HOUR)
    for _ in range(2):
        entry(time=now - 26 * HOUR)
    assert cards(admin_client)["Requests"].change == "+50 %"
    assert [bar.column.before for bar in page(admin_client)["chart"].bars if bar.column.before] == [2]


def test_it_does_not_compare_when_asked_not_to(admin_client: Client, visits: Any) -> None:
    assert cards(admin_client, "?compare=no")["Requests"].change == ""
    assert page(admin_client, "?compare=no")["chart"].bars[0].column.before is None


def test_switches_keep_what_else_was_chosen(admin_client: Client, visits: Any) -> None:
    body = html_of(admin_client, f"{ANALYTICS}?period=7d&bots=yes")
    links = {html.unescape(link) for link in re.findall(r'href="(\?[^"]*)"', body)}
    assert "?period=7d" in links  # bots off
    assert "?period=7d&compare=no&bots=yes" in links
    assert "?period=30d&bots=yes" in links


def test_an_empty_log_says_what_to_do(admin_client: Client) -> None:
    assert "No requests were counted in this time." in html_of(admin_client, ANALYTICS)


def test_it_reads_no_row_of_the_log(admin_client: Client, visits: Any) -> None:
    before = page(admin_client)["cards"]
    AccessLog.objects.all().delete()
    assert admin_client.get(ANALYTICS).context["cards"] == before


def test_all_pages_lead_to_it(admin_client: Client) -> None:
    for url in (LIST, "/admin/locqueue/task/"):
        strip = html_of(admin_client, url).partition('class="lq-strip"')[2].partition("</ul>")[0]
        assert f'href="{ANALYTICS}"' in strip
    assert f'<a href="{ANALYTICS}" aria-current="page">' in html_of(admin_client, ANALYTICS)


def test_pages_run_under_a_strict_content_security_policy(admin_client: Client, visits: Any) -> None:
    count_all()
    row = AccessLog.objects.exclude(ip=None).first()
    assert row is not None
    for url in (ANALYTICS, f"{LIST}address/{row.ip}/", LIST, f"{LIST}{row.pk}/change/"):
        body = html_of(admin_client, url)
        assert not re.search(r"<style|\sstyle=|<script(?![^>]*\ssrc=)|\son\w+=", body), url
