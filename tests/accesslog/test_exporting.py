"""The access log as text."""

import csv
import io
import json

import pytest
from django.db import connection

from django_locqueue.accesslog.files import exporting
from django_locqueue.accesslog.files.exporting import export
from django_locqueue.accesslog.files.importing import import_lines
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.storage import to_row
from django_locqueue.accesslog.visible import visible
from tests.accesslog.conftest import a_hit
from tests.store.plans import plans

pytestmark = pytest.mark.django_db

NANJING = {"country_code": "CN", "country": "中国", "province": "江苏", "city": "南京", "isp": "电信"}


def store(*hits):
    AccessLog.objects.bulk_create([to_row(hit._replace(id=f"{number:032}")) for number, hit in enumerate(hits)])


def exported(form, *, full_ip=False):
    return "".join(export(AccessLog.objects.all(), form, full_ip=full_ip))


def test_combined_is_a_line_for_each_request():
    store(a_hit("/a b", time=1_431_857_103.25, user_id=7, referer="http://a.example/"))
    assert exported("combined") == (
        '49.65.250.0 - 7 [17/May/2015:10:05:03 +0000] "GET /a%20b HTTP/1.1" 200 12 "http://a.example/" "Mozilla/5.0"\n'
    )


def test_what_is_exported_can_be_imported():
    store(a_hit("/杭州", user_agent='a "quoted" \\ agent', time=1_431_857_103.0), a_hit("/b", ip=None, bytes=None))
    names = ("time", "ip", "location", "method", "path", "status", "bytes", "user_agent", "referer", "is_bot")
    before = list(AccessLog.objects.order_by("pk").values_list(*names))
    text = exported("combined", full_ip=True)
    AccessLog.objects.all().delete()
    list(import_lines(text.encode().splitlines(keepends=True)))
    after = list(AccessLog.objects.order_by("pk").values_list(*names))
    assert [(row[0].replace(microsecond=0), *row[1:]) for row in before] == after


@pytest.mark.parametrize("form", exporting.FORMATS)
def test_the_end_of_an_address_is_hidden_though_whole_addresses_are_located(configure, form):
    configure(PREFIX_V4=32)
    store(a_hit("/a"))
    assert "49.65.250.0" in exported(form)
    assert "49.65.250.135" not in exported(form)


def test_jsonl_is_an_object_a_line_with_the_place():
    Location.objects.create(pk="49.65.250.0/24", state="located", **NANJING)
    store(a_hit("/a"), a_hit("/b", ip=None))
    first, second = map(json.loads, exported("jsonl").splitlines())
    assert list(first) == list(exporting.FIELDS)
    assert (first["time"], first["path"], first["duration_ms"], first["city"]) == (
        *("2026-09-21T14:13:20.500000+00:00", "/a", 1.5, "南京"),
    )
    assert (second["ip"], second["city"], second["user"]) == (None, "", None)


def test_csv_has_a_line_of_names():
    store(a_hit("/a,b", user_agent='say "hi"\nthere'))
    names, cells = csv.reader(io.StringIO(exported("csv"), newline=""))
    assert tuple(names) == exporting.FIELDS
    assert dict(zip(names, cells, strict=True))["user_agent"] == r'say "hi"\u000athere'


def test_csv_of_an_empty_log_has_only_that():
    assert exported("csv").splitlines() == [",".join(exporting.FIELDS)]


@pytest.mark.parametrize("agent", ["=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\t=1"])
def test_no_cell_is_a_formula(agent):
    store(a_hit(user_agent=agent))
    [cells] = csv.DictReader(io.StringIO(exported("csv"), newline=""))
    assert cells["user_agent"] == visible(f"'{agent}")


@pytest.mark.parametrize("form", exporting.FORMATS)
def test_addresses_are_whole_only_where_it_was_asked_for(form):
    store(a_hit(ip="49.65.250.135"), a_hit(ip="2001:db8:1:2::3"))
    short, whole = exported(form), exported(form, full_ip=True)
    assert "49.65.250.0" in short
    assert "2001:db8:1::" in short
    assert "49.65.250.135" not in short
    assert "2001:db8:1:2::3" not in short
    assert "49.65.250.135" in whole
    assert "2001:db8:1:2::3" in whole


def test_rows_come_by_time_and_each_once(monkeypatch):
    monkeypatch.setattr(exporting, "PAGE", 2)
    times = [5.0, 3.0, 3.0, 3.0, 9.0, 3.0, 1.0]
    store(*[a_hit(f"/{number}", time=1e9 + time) for number, time in enumerate(times)])
    paths = [json.loads(line)["path"] for line in exported("jsonl").splitlines()]
    assert paths == ["/6", "/1", "/2", "/3", "/5", "/0", "/4"]


def test_a_page_costs_two_queries(monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(exporting, "PAGE", 50)
    store(*[a_hit(f"/{number}") for number in range(100)])
    with django_assert_num_queries(2 * 2 + 1):
        exported("jsonl")


@pytest.mark.skipif(connection.vendor == "mysql", reason="its planner goes by statistics of its own")
def test_no_page_reads_or_sorts_the_table(monkeypatch):
    monkeypatch.setattr(exporting, "PAGE", 50)
    store(*[a_hit(f"/{number}", time=1e9 + number) for number in range(5_000)])
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE locqueue_accesslog_accesslog")  # else it takes the table for a smaller one
    pages = exporting.walk(AccessLog.objects.all())
    for plan in plans(lambda: [next(pages), next(pages)]):
        assert "locqueue_accesslog_time" in plan, plan
        for step in ("Seq Scan", "Sort", "SCAN locqueue_accesslog_accesslog\n", "TEMP B-TREE"):
            assert step not in plan.partition("LIMIT 50")[2], plan
