"""The list as CSV."""

import csv
import io
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from django_locqueue.accesslog.admin import export
from django_locqueue.accesslog.files import exporting
from tests.accesslog.pages.rows import EXPORT, entry, minutes_ago

pytestmark = pytest.mark.django_db


def exported(client: Client, query: str = "") -> list[dict[str, str]]:
    response: Any = client.get(EXPORT + query)
    assert response.status_code == 200
    text = b"".join(response.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_has_what_the_list_shows(admin_client: Client, place: Any) -> None:
    row = entry(status=404, query="utm=1", user_agent="Mozilla", action="shop:list")
    [line] = exported(admin_client)
    assert line["ip"] == "49.65.250.135"
    assert (line["country"], line["province"], line["city"], line["isp"]) == ("中国", "江苏", "南京", "电信")
    assert (line["method"], line["path"], line["query"], line["status"]) == ("GET", row.path, "utm=1", "404")
    assert (line["user_agent"], line["action"], line["request_id"]) == ("Mozilla", "shop:list", row.hit_id)


def test_it_has_the_rows_of_the_filtered_list_in_its_order(admin_client: Client) -> None:
    for number in range(3):
        entry(path=f"/{number}", status=500 if number else 200, time=minutes_ago(number))
    assert [line["path"] for line in exported(admin_client, "?status_class=5")] == ["/1", "/2"]


def test_all_rows_come_once_though_they_are_read_in_parts(admin_client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(exporting, "PAGE", 2)
    moment = minutes_ago(1)
    paths = [entry(time=moment).path for _ in range(5)]
    assert [line["path"] for line in exported(admin_client)] == paths[::-1]


def test_a_page_is_two_queries(
    admin_client: Client, place: Any, monkeypatch: Any, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(exporting, "PAGE", 1)
    alice = get_user_model().objects.create(username="alice")
    for _ in range(2):
        entry(user=alice)
    response: Any = admin_client.get(EXPORT)
    with django_assert_num_queries(5):  # rows and places; and the last page is empty
        assert b"".join(response.streaming_content).count(b"/path-") == 2


def test_it_ends_at_its_bound(admin_client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(export, "MOST_ROWS", 3)
    monkeypatch.setattr(exporting, "PAGE", 2)
    for _ in range(5):
        entry()
    assert len(exported(admin_client)) == 3


def test_addresses_are_masked_as_on_the_page(person: Any) -> None:
    entry()
    assert exported(person("view_accesslog", "export_data"))[0]["ip"] == "49.65.250.•"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(admin_client: Client, text: str) -> None:
    entry(path=text, user_agent=text, referer=text, location_id=None)
    [line] = exported(admin_client)
    assert all(line[name].startswith("'") for name in ("path", "user_agent", "referer"))


def test_a_line_break_is_written_out(admin_client: Client) -> None:
    entry(user_agent="a\nb\u202e", location_id=None)
    assert exported(admin_client)[0]["user_agent"] == "a\\u000ab\\u202e"


def test_a_bad_filter_is_refused(admin_client: Client) -> None:
    assert admin_client.get(f"{EXPORT}?since=yesterday").status_code == 400
