"""Neither counting an hour nor reading a day of the counts looks at what is older, whatever the planner believes."""

import datetime
from typing import Any

import pytest
from django.db import connection

from django_locqueue.accesslog.analytics.counting import count, store
from django_locqueue.accesslog.analytics.days import add_up, day_of
from django_locqueue.accesslog.analytics.period import Period
from django_locqueue.accesslog.analytics.reading import countries, overview, top
from django_locqueue.accesslog.analytics.stale import mark_visits_from
from django_locqueue.accesslog.models import AccessLog, HourlyStat, StaleHour
from tests.accesslog.analytics.rows import HOUR, log, logged
from tests.store.plans import plans

pytestmark = pytest.mark.django_db

LOG, STATS = AccessLog._meta.db_table, HourlyStat._meta.db_table
DAY = Period.last(24, HOUR)
TEN_DAYS = Period.last(240, HOUR)


@pytest.fixture(params=["never analysed", "analysed when full"])
def filled(request: pytest.FixtureRequest, db: None) -> None:
    if connection.vendor == "mysql":
        pytest.skip("MySQL and MariaDB keep statistics of their own")
    hours = [HOUR - datetime.timedelta(hours=number) for number in range(300)]
    log(*(logged(n, hour=hour, ip=f"49.{n}.{hour.day}.1") for hour in hours for n in range(4)))
    HourlyStat.objects.bulk_create(
        HourlyStat(hour=hour, dimension=dimension, hits=1, errors=0, total_ms=1, longest_ms=1, histogram={"1": 1})
        for hour in hours
        for dimension in HourlyStat.Dimension
    )
    add_up(day_of(HOUR - datetime.timedelta(days=3)))
    if request.param == "analysed when full":
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {LOG}")
            cursor.execute(f"ANALYZE {STATS}")


def assert_no_scan(verb: Any, table: str) -> None:
    found = plans(verb)
    assert any(table in plan for plan in found)
    for plan in found:
        assert f"Seq Scan on {table}" not in plan, plan
        assert f"SCAN {table}" not in plan, plan


def test_an_hour_is_counted_from_the_index_of_times(filled: None):
    assert_no_scan(lambda: count(HOUR), LOG)


def test_the_hours_of_a_network_are_found_by_its_index(filled: None):
    assert_no_scan(lambda: mark_visits_from(["49.1.1.0/24"]), LOG)


def test_the_counts_of_an_hour_are_replaced_by_their_index(filled: None):
    mark = StaleHour.objects.create(hour=HOUR)
    assert_no_scan(lambda: store(HOUR, [], [mark.pk]), STATS)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: overview(DAY, HOUR),
        lambda: top("path", DAY),
        lambda: top("city", DAY, within="CN"),
        lambda: countries(DAY),
        lambda: overview(TEN_DAYS, HOUR),
        lambda: top("path", TEN_DAYS),
        lambda: add_up(day_of(HOUR - datetime.timedelta(days=2))),
    ],
    ids=["overview", "top", "within", "countries", "overview of days", "top of days", "a day is added up"],
)
def test_a_page_reads_its_period_of_the_counts(filled: None, ask: Any):
    assert_no_scan(ask, STATS)
