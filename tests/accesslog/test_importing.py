"""Log files into the access log."""

import datetime
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connections

from django_locqueue.accesslog.files import importing
from django_locqueue.accesslog.files.importing import import_lines
from django_locqueue.accesslog.files.log_file import MAX_LINE, LogFile
from django_locqueue.accesslog.models import AccessLog, Location, StaleHour
from django_locqueue.models import Task

pytestmark = pytest.mark.django_db

REAL_LOG = Path(__file__).parents[3] / "shared" / "data" / "access-2015.log"


def line(path="/", ip="49.65.250.135", second=3, agent="Mozilla/5.0"):
    return f'{ip} - - [17/May/2015:10:05:{second:02} +0000] "GET {path} HTTP/1.1" 200 12 "-" "{agent}"\n'.encode()


def imported(*lines):
    """Return what became of the lines."""
    return list(import_lines(lines))[-1]


def test_a_line_becomes_a_row():
    imported(line("/a", agent="curl/8"))
    row = AccessLog.objects.get()
    assert (row.ip, row.prefix, row.method, row.path, row.status, row.bytes, row.user_agent, row.is_bot) == (
        *("49.65.250.135", "49.65.250.0/24", "GET", "/a", 200, 12, "curl/8", True),
    )
    assert row.time == datetime.datetime(2015, 5, 17, 10, 5, 3, tzinfo=datetime.UTC)


def test_what_a_line_does_not_tell_has_its_default():
    imported(line())
    row = AccessLog.objects.get()
    assert (row.user_id, row.action, row.streaming, row.weight, row.duration_ms) == (None, "", False, 1.0, 0.0)


def test_the_same_file_twice_adds_nothing():
    lines = [line("/a"), line("/b"), line("/a")]
    first, second = imported(*lines), imported(*lines)
    assert (first.stored, first.known) == (3, 0)
    assert (second.stored, second.known) == (0, 3)
    assert AccessLog.objects.count() == 3


def test_a_file_that_has_grown_adds_what_is_new():
    imported(line("/a"), line("/b"))
    report = imported(line("/a"), line("/b"), line("/c"))
    assert (report.stored, report.known) == (1, 2)


def test_after_a_stop_what_is_missing_is_stored(monkeypatch):
    monkeypatch.setattr(importing, "BATCH", 2)
    lines = [line(f"/{number}") for number in range(5)]
    next(import_lines(lines))  # one batch, and then the process ends
    assert AccessLog.objects.count() == 2
    assert imported(*lines).stored == 3


def test_bad_lines_are_counted_and_the_first_are_shown():
    report = imported(line(), *[b"garbage\n"] * 7, line("/b"))
    assert (report.lines, report.stored, report.bad) == (9, 2, 7)
    assert [number for number, _reason in report.examples] == [2, 3, 4, 5, 6]
    assert "expected: address" in report.examples[0][1]


def test_empty_lines_are_neither_good_nor_bad():
    report = imported(line(), b"\n", b"\r\n")
    assert (report.stored, report.bad) == (1, 0)


def test_a_last_line_without_an_end_is_left_until_it_has_one():
    report = imported(line("/a"), line("/b")[:-30])
    assert (report.lines, report.stored, report.bad, report.is_cut) == (1, 1, 0, True)
    assert imported(line("/a"), line("/b")).stored == 1


def test_a_line_that_is_too_long_is_bad():
    report = imported(b"x" * MAX_LINE, line())
    assert (report.lines, report.stored, report.bad, report.is_cut) == (2, 1, 1, False)


def test_what_no_database_would_take_is_stored_without_it():
    imported(line("/%00%ed%a0%80", agent="\\x00\\xff"), b"\xff\xfe" + line())
    row = AccessLog.objects.get()
    assert "\x00" not in row.path + row.user_agent


def test_each_network_is_located_once(monkeypatch):
    monkeypatch.setattr(importing, "BATCH", 2)
    report = imported(line("/a"), line("/b"), line("/c"), line("/d", ip="8.8.8.8"), line("/e", ip="2001:db8::1"))
    assert report.networks == 3
    assert set(Location.objects.values_list("pk", flat=True)) == {"49.65.250.0/24", "8.8.8.0/24", "2001:db8::/48"}
    assert Task.objects.count() == 3


def test_a_batch_costs_the_same_number_of_queries_whatever_is_in_it(django_assert_num_queries):
    imported(line())
    for count in (10, 1000):
        with django_assert_num_queries(7):
            imported(*[line(f"/{count}/{number}") for number in range(count)])


def test_the_oldest_time_is_told():
    assert imported(line(second=9), line(second=4)).oldest == 1_431_857_104.0


@pytest.mark.skipif(not REAL_LOG.exists(), reason="the log of a public site is not there")
def test_the_log_of_a_public_site_is_stored_whole():
    with LogFile(str(REAL_LOG)) as log:
        report = list(import_lines(log))[-1]
    assert (report.lines, report.stored, report.bad) == (10_000, 10_000, 0)
    assert AccessLog.objects.values("ip").distinct().count() == 1753


def test_the_settings_of_privacy_hold(configure):
    configure(IP_STORAGE="truncate", QUERY_PARAMS=["q"])
    imported(line("/page/?q=1&token=2"))
    row = AccessLog.objects.get()
    assert (row.ip, row.prefix, row.path, row.query) == ("49.65.250.0", "49.65.250.0/24", "/page/", "q=1")


def test_an_address_that_may_not_be_stored_is_not(configure):
    configure(IP_STORAGE="none")
    imported(line())
    row = AccessLog.objects.get()
    assert (row.ip, row.prefix, row.visitor) == (None, None, "")


def test_a_secret_in_a_path_of_this_site_is_masked(settings):
    settings.ROOT_URLCONF = "tests.accesslog.privacy.urls"
    imported(line("/reset/MTIzNA/c4x-9a8b7c6d5e4f/"))
    assert AccessLog.objects.get().path == "/reset/***/***/"


def test_the_hours_of_new_rows_are_to_be_counted_again():
    imported(line())
    assert StaleHour.objects.get().hour == datetime.datetime(2015, 5, 17, 10, tzinfo=datetime.UTC)
    StaleHour.objects.all().delete()
    imported(line())
    assert not StaleHour.objects.exists()


def test_without_a_setting_no_query_is_kept():
    imported(line("/a?token=1&q=2"))
    row = AccessLog.objects.get()
    assert (row.path, row.query) == ("/a", "")


@pytest.mark.django_db(transaction=True)
def test_two_imports_of_a_file_at_once_store_each_line_once(monkeypatch):
    monkeypatch.setattr(importing, "BATCH", 20)
    lines = [line(f"/{number}", ip=f"49.65.{number}.1") for number in range(100)]

    def run(part):
        try:
            return list(import_lines(part))[-1].stored
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        stored = list(threads.map(run, [lines, lines[::-1]]))
    assert sum(stored) == AccessLog.objects.count() == 100
