"""Which hours are counted again, and which never."""

import datetime
import json

import pytest

from django_locqueue.accesslog.analytics.stale import close_hours, mark_stale, mark_visits_from
from django_locqueue.accesslog.analytics.tasks import count_stale_hours
from django_locqueue.accesslog.models import AccessLog, HourlyStat, StaleHour
from django_locqueue.accesslog.tasks import record_hits
from tests.accesslog.analytics.rows import HOUR, log, logged
from tests.accesslog.conftest import a_hit

pytestmark = pytest.mark.django_db

LATER = HOUR + datetime.timedelta(hours=1)


def marked():
    return list(StaleHour.objects.order_by("hour").values_list("hour", flat=True))


def test_requests_that_are_stored_make_their_hours_stale(site):
    hits = [a_hit(id=str(n), ip=None, time=HOUR.timestamp() + minute * 60) for n, minute in enumerate((0, 59, 60))]
    record_hits.func(json.loads(json.dumps([hit.to_json() for hit in hits])))
    assert marked() == [HOUR, LATER]


def test_many_moments_are_marked_in_one_query(django_assert_num_queries):
    with django_assert_num_queries(1):
        mark_stale(HOUR + datetime.timedelta(minutes=30 * n) for n in range(200))
    assert len(marked()) == 100


def test_where_hours_begin_at_half_past_the_same_hours_are_marked():
    mark_stale([HOUR.astimezone(datetime.timezone(datetime.timedelta(hours=5, minutes=30)))])
    assert marked() == [HOUR]


def test_a_network_that_was_located_makes_the_hours_of_its_visits_stale():
    log(logged(5), logged(6), logged(hour=LATER), logged(hour=LATER + datetime.timedelta(hours=5), ip="8.8.8.8"))
    mark_visits_from(["49.65.250.0/24"])
    assert marked() == [HOUR, LATER]


def counted(*rows):
    log(*rows)
    mark_stale(row.time for row in rows)
    count_stale_hours()


def hits_by_hour():
    return dict(HourlyStat.objects.filter(dimension="all").values_list("hour", "hits"))


def test_an_hour_whose_log_is_pruned_is_never_counted_again():
    counted(logged(), logged(hour=LATER))
    close_hours(LATER)
    AccessLog.objects.filter(time__lt=LATER).delete()
    mark_stale([HOUR, LATER])
    assert count_stale_hours() == 1
    assert hits_by_hour() == {HOUR: 1, LATER: 1}
    assert not StaleHour.objects.exists()


def test_an_hour_that_is_pruned_from_its_middle_is_closed_too():
    counted(logged(10), logged(50))
    close_hours(HOUR + datetime.timedelta(minutes=30))
    AccessLog.objects.filter(time__lt=HOUR + datetime.timedelta(minutes=30)).delete()
    mark_stale([HOUR])
    count_stale_hours()
    assert hits_by_hour() == {HOUR: 2}


def test_old_requests_that_are_imported_are_counted():
    old = HOUR - datetime.timedelta(days=4000)
    counted(logged(hour=old))
    counted(logged(hour=old))
    assert hits_by_hour() == {old: 2}


def test_without_time_zones_hours_are_as_the_rows_have_them(settings):
    settings.USE_TZ = False
    naive = HOUR.replace(tzinfo=None)
    counted(logged(hour=naive))
    mark_visits_from(["49.65.250.0/24"])
    assert marked() == [naive]
    assert hits_by_hour() == {naive: 1}
