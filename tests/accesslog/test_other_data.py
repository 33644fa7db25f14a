"""Networks are located again when there are other data."""

import datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_locqueue.accesslog import locating
from django_locqueue.accesslog.locating import locate, refresh_locations
from django_locqueue.accesslog.models import Location, StaleHour
from django_locqueue.testing import run_tasks
from tests.accesslog.analytics.rows import HOUR, log, logged
from tests.accesslog.lookups import NANJING, NANJING_ROWS, location, waiting
from tests.accesslog.services import told
from tests.accesslog.xdb_builder import built_on

pytestmark = pytest.mark.django_db


def refresh():
    """Run what the schedule enqueues, to the end."""
    refresh_locations.enqueue()
    return run_tasks()


def test_with_the_same_data_a_refresh_is_two_reads(xdb):
    locate.func([NANJING])
    with CaptureQueriesContext(connection) as sent:
        refresh_locations.func(None)
    assert [query["sql"].split()[0] for query in sent] == ["SELECT", "SELECT"]


@pytest.mark.parametrize("days", [-1, 1])
def test_places_of_other_data_are_located_again_when_the_file_was_replaced(xdb, data, days):
    locate.func([NANJING, "9.9.9.0/24"])
    data(
        [("49.65.250.0", "49.65.250.255", "中国|0|江苏省|苏州市|电信"), ("9.9.9.0", "9.9.9.255", "美国|0|0|0|0")], days
    )
    refresh()
    found = dict(Location.objects.values_list("pk", "city"))
    assert found == {NANJING: "苏州", "9.9.9.0/24": ""}
    assert Location.objects.get(pk="9.9.9.0/24").country == "美国"
    assert set(Location.objects.values_list("data_version", flat=True)) == {f"reserved, xdb {built_on(days)}"}


def test_only_what_moved_is_counted_again(xdb, data):
    log(logged(5), logged(65, ip="49.65.251.1"))
    locate.func([NANJING, "49.65.251.0/24"])
    StaleHour.objects.all().delete()
    data([*NANJING_ROWS, ("49.65.251.0", "49.65.251.255", "中国|0|江苏省|苏州市|电信")], days=1)
    refresh()
    assert StaleHour.objects.get().hour == HOUR + datetime.timedelta(hours=1)


def test_a_refresh_goes_on_in_tasks_of_some_thousand_networks(xdb, data, monkeypatch):
    monkeypatch.setattr(locating, "NETWORKS", 2)
    monkeypatch.setattr(locating, "BATCHES", 2)
    locate.func([f"49.65.{n}.0/24" for n in range(10)])
    data(NANJING_ROWS, days=1)
    assert [run.task_path.rpartition(".")[2] for run in refresh()] == ["refresh_locations"] * 3
    assert set(Location.objects.values_list("data_version", flat=True)) == {f"reserved, xdb {built_on(1)}"}


def test_a_refresh_is_left_to_those_who_began_it_where_others_have_other_data(xdb, data):
    locate.func([NANJING])
    data(NANJING_ROWS, days=1)
    refresh_locations.func(None, "reserved, xdb 2020-01-01")
    assert Location.objects.get().data_version == f"reserved, xdb {built_on(0)}"


def test_no_place_is_lost_while_the_file_is_missing(xdb, tmp_path, caplog):
    locate.func([NANJING])
    (tmp_path / "x.xdb").unlink()
    refresh()
    assert Location.objects.get().city == "南京"


def test_no_place_is_lost_while_a_provider_cannot_be_had(xdb, settings, tmp_path, caplog):
    locate.func([NANJING])
    settings.LOCQUEUE = {"ACCESS_LOG": {"GEO": {"PROVIDERS": ["reserved", "nonsense"]}}}
    refresh()
    assert Location.objects.get().city == "南京"


def test_what_a_service_said_and_what_is_pending_is_left_to_them(xdb, data, settings, tmp_path):
    providers = ["xdb", told()]
    settings.LOCQUEUE = {"ACCESS_LOG": {"GEO": {"PROVIDERS": providers, "XDB_V4": tmp_path / "x.xdb"}}}
    location("located", provider="told", city="Here")
    location("pending", prefix="49.65.251.0/24")
    refresh()
    assert set(Location.objects.values_list("city", "data_version")) == {
        ("Here", f"xdb {built_on(0)}"),
        ("", f"xdb {built_on(0)}"),
    }
    assert waiting("ask_told") == []


def test_a_refresh_is_on_the_schedule_of_every_hour(xdb):
    from django_locqueue.scheduler.defined import defined_schedules

    [found] = [each for each in defined_schedules() if each.definition.name == "refresh_locations"]
    assert found.every == 3600
