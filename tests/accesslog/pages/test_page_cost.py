"""A page costs the same beside millions of requests."""

import datetime
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_locqueue.accesslog.admin import address_page
from django_locqueue.accesslog.admin.changelist import LogChangeList
from django_locqueue.accesslog.models import AccessLog
from tests.accesslog.pages.rows import ANALYTICS, LIST, count_all, entry, html_of, located, minutes_ago, unsaved
from tests.admin.test_cost import plan_of

pytestmark = pytest.mark.django_db

ADDRESS = f"{LIST}address/49.65.250.135/"
PAGES = {LIST: 10, f"{LIST}?status_class=5&country=CN": 11, ANALYTICS: 29, ADDRESS: 9}


def queries_of(client: Client, url: str) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        html_of(client, url)
    return [query["sql"] for query in captured]


def change_list(query: str) -> Any:
    request = RequestFactory().get(f"{LIST}{query}")
    request.user = User(is_superuser=True, is_active=True)
    return admin.site.get_model_admin(AccessLog).get_changelist_instance(request)


@pytest.fixture
def few(place: Any) -> None:
    for number in range(3):
        entry(time=minutes_ago(number), status=500)
    count_all()


def fill(number: int) -> None:
    """Store that many more requests, from many networks and over half a day, and count them."""
    now = timezone.now()
    for n in range(50):
        located(f"10.0.{n}.0/24", country_code="CN", country="中国", province=f"p{n % 30}", city=f"c{n}")
    rows = (
        unsaved(
            1000 + n,
            time=now - datetime.timedelta(seconds=1 + n * 12 * 3600 / number),
            ip=f"10.0.{n % 50}.{n % 250}" if n % 2 else "49.65.250.135",
            location_id=f"10.0.{n % 50}.0/24" if n % 2 else "49.65.250.0/24",
            path=f"/{n % 300}",
            status=500 if n % 100 == 0 else 200,
        )
        for n in range(number)
    )
    AccessLog.objects.bulk_create(rows, batch_size=2000)
    count_all()


@pytest.fixture
def many(place: Any) -> None:
    """Of which the database knows how many belong to a network: with three rows it may as well read another index."""
    fill(300)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE locqueue_accesslog_accesslog")


@pytest.mark.any_vendor
@pytest.mark.parametrize("page", PAGES)
def test_a_page_takes_a_fixed_number_of_queries(admin_client: Client, page: str, few: Any, kept_snapshot: None) -> None:
    with_few = queries_of(admin_client, page)
    assert len(with_few) <= PAGES[page]
    fill(500)
    # The list looks for the bound of its window whether or not there is one.
    assert len(queries_of(admin_client, page)) == len(with_few)


@pytest.mark.any_vendor
def test_g2_beside_ten_times_its_window_no_page_takes_more(
    admin_client: Client, few: Any, kept_snapshot: None, monkeypatch: Any
) -> None:
    monkeypatch.setattr(LogChangeList, "window", 1_000)
    monkeypatch.setattr(address_page, "WINDOW", 1_000)
    queries_of(admin_client, LIST)  # what a process asks once
    with_few = {page: len(queries_of(admin_client, page)) for page in PAGES}
    fill(10_000)
    assert {page: len(queries_of(admin_client, page)) for page in PAGES} == with_few
    assert change_list("?status_class=5").window_is_full
    assert 10 <= change_list("?status_class=5").paginator.count <= 13  # of the newest thousand
    assert change_list("").paginator.is_capped


@pytest.mark.any_vendor
@pytest.mark.parametrize("page", [*PAGES, f"{LIST}?q=/path", f"{LIST}?q=49.65.250.135", f"{LIST}?q=alice&last=7d"])
def test_no_page_counts_or_lists_the_log_without_a_limit(admin_client: Client, page: str, few: Any) -> None:
    for sql in queries_of(admin_client, page):
        if 'FROM "locqueue_accesslog_accesslog"' in sql.replace("`", '"'):
            assert "LIMIT" in sql, sql
        assert "DISTINCT" not in sql.upper()


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("", "locqueue_accesslog_time"),
        ("?last=24h", "locqueue_accesslog_time"),
        ("?since=2026-11-30T14:00Z&until=2026-11-30T15:00Z", "locqueue_accesslog_time"),
        ("?q=10.0.7.0/24", "locqueue_accesslog_network"),
        ("?q=10.0.7.7", "locqueue_accesslog_network"),
        ("?q=alice", "locqueue_accesslog_user"),
        ("?q=alice&last=7d", "locqueue_accesslog_user"),
    ],
)
def test_a_list_is_read_from_an_index_in_its_order(query: str, index: str, many: Any) -> None:
    entry(user=User.objects.create(username="alice"))
    plan = plan_of(change_list(query).queryset[:51])
    assert index in plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan


def test_the_bound_of_a_search_is_read_from_its_index(many: Any) -> None:
    rows = AccessLog.objects.filter(location_id="10.0.7.0/24").order_by("-time", "-id")
    plan = plan_of(rows.values("time", "id")[100_000:100_001])
    assert "locqueue_accesslog_network" in plan
    assert "Sort" not in plan
    assert "TEMP B-TREE" not in plan


def test_a_condition_without_an_index_looks_at_the_newest_rows(monkeypatch: Any, admin_client: Client) -> None:
    monkeypatch.setattr(LogChangeList, "window", 3)
    for number in range(6):
        entry(status=500 if number > 3 else 200, time=minutes_ago(number))
    assert change_list("?status_class=5").paginator.count == 0
    assert "Only the newest" in html_of(admin_client, f"{LIST}?status_class=5")
    assert "Only the newest" not in html_of(admin_client, LIST)


def test_a_chosen_time_moves_the_window(monkeypatch: Any) -> None:
    monkeypatch.setattr(LogChangeList, "window", 3)
    for number in range(6):
        entry(status=500 if number > 3 else 200, time=minutes_ago(number))
    until = minutes_ago(3.5).isoformat().replace("+00:00", "Z")
    assert change_list(f"?status_class=5&until={until}").paginator.count == 2


def test_beyond_its_pages_a_list_goes_on(monkeypatch: Any, admin_client: Client) -> None:
    monkeypatch.setattr("django_locqueue.admin.paginator.CappedPaginator.cap", 2)
    moment = minutes_ago(1)
    rows = {entry(time=moment if number % 2 else minutes_ago(number)).pk for number in range(7)}
    seen: list[int] = []
    query: str | None = ""
    while query is not None:
        found = change_list(query)
        seen += [row.pk for row in found.result_list]
        query = found.further_url
    assert len(seen) == len(set(seen))
    assert set(seen) == rows
