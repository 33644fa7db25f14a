"""What is old is deleted, the rest is not."""

import datetime

import pytest
from django.db import connection
from django.utils import timezone

from django_locqueue.accesslog import retention
from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.analytics.tasks import count_stale_hours
from django_locqueue.accesslog.housekeeping import prune_access_log
from django_locqueue.accesslog.models import AccessLog, HourlyStat, Location, Loss, VisitorKey
from django_locqueue.accesslog.retention import kept_since, prune
from django_locqueue.accesslog.storage import to_row
from django_locqueue.accesslog.tasks import record_hits
from django_locqueue.models import Task
from django_locqueue.testing import run_tasks
from tests.accesslog.conftest import a_hit
from tests.store.plans import plan_of, plans

pytestmark = pytest.mark.django_db

NOW = datetime.datetime(2026, 11, 30, 21, 15, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)


def ago(**span):
    return NOW - datetime.timedelta(**span)


def requests(*moments):
    AccessLog.objects.bulk_create(
        to_row(a_hit(id=str(number), time=moment.timestamp())) for number, moment in enumerate(moments)
    )


def count(dimension, moment, key=""):
    hour = moment.replace(minute=0)
    return HourlyStat.objects.create(
        hour=hour, dimension=dimension, key=key, hits=1, errors=0, total_ms=1, longest_ms=1, histogram="{}"
    )


def left(model, column):
    return sorted((NOW - moment).days for moment in model.objects.values_list(column, flat=True))


def test_old_requests_are_deleted():
    requests(ago(days=1), ago(days=179), ago(days=182))
    assert prune(NOW)["requests"] == 1
    assert left(AccessLog, "time") == [1, 179]


def test_none_is_deleted_where_all_are_kept(configure):
    configure(RETENTION_DAYS=None, ROLLUP_RETENTION_DAYS=None)
    requests(ago(days=4000))
    count("all", ago(days=4000))
    Location.objects.create(prefix="49.65.250.0/24", requested_at=ago(days=4000))
    assert prune(NOW) == {"requests": 0, "networks": 0, "counts": 0, "keys": 0}


def test_an_hour_is_kept_as_a_whole(configure):
    configure(RETENTION_DAYS=1)
    requests(ago(days=1, minutes=14), ago(days=1, minutes=16))
    prune(NOW)
    assert AccessLog.objects.count() == 1
    assert kept_since(1, NOW) == NOW.replace(minute=0) - DAY


def test_counts_are_kept_longer():
    for days in (1, 300, 800):
        count("all", ago(days=days))
    assert prune(NOW)["counts"] == 1
    assert left(HourlyStat, "hour") == [1, 300]


def test_counts_of_addresses_are_kept_no_longer_than_the_addresses():
    count("ip", ago(days=200), "49.65.250.135")
    count("path", ago(days=200), "/")
    prune(NOW)
    assert [stat.dimension for stat in HourlyStat.objects.all()] == ["path"]


def test_the_counts_of_what_is_deleted_stay_as_they_are():
    old = ago(days=200)
    requests(old)
    mark_stale([old])
    count_stale_hours()
    prune(NOW)
    mark_stale([old])
    count_stale_hours()
    assert HourlyStat.objects.get(dimension="all").hits == 1


def test_requests_of_an_hour_that_is_to_be_counted_stay_until_it_is():
    old = ago(days=200)
    requests(*[old] * 3, ago(days=201), ago(days=199, minutes=15), ago(days=199, minutes=16))
    mark_stale([old, ago(days=199, minutes=15)])
    assert prune(NOW)["requests"] == 2
    count_stale_hours()
    assert prune(NOW)["requests"] == 4
    assert sorted(HourlyStat.objects.filter(dimension="all").values_list("hits", flat=True)) == [1, 3]


def test_an_hour_that_is_counted_between_two_batches_is_left_to_the_next_pruning():
    old = ago(days=200)
    requests(*[old] * 5)

    def import_and_count():
        if not HourlyStat.objects.exists():
            mark_stale([old])
            count_stale_hours()
        return False

    prune(NOW, should_stop=import_and_count)
    assert AccessLog.objects.count() == 5
    assert HourlyStat.objects.get(dimension="all").hits == 5


def test_counts_of_an_hour_that_was_pruned_in_part_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    old = ago(days=200)
    requests(*[old] * 5)
    mark_stale([old])
    count_stale_hours()
    asked = iter([False, True])
    prune(NOW, should_stop=lambda: next(asked, True))
    mark_stale([old])
    count_stale_hours()
    assert AccessLog.objects.count() == 3
    assert HourlyStat.objects.get(dimension="all").hits == 5
    prune(NOW)
    assert not AccessLog.objects.exists()


def test_old_keys_of_visitors_are_deleted():
    for days in range(4):
        VisitorKey.objects.create(day=ago(days=days).date(), key=b"k")
    assert prune(NOW)["keys"] == 2


def test_networks_that_nobody_comes_from_any_more_are_deleted(monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    requests(ago(days=1))  # from 49.65.250.0/24
    for prefix, days in (("49.65.249.0/24", 200), ("49.65.250.0/24", 200), ("49.65.251.0/24", 1), ("9.9.9.0/24", 200)):
        Location.objects.create(prefix=prefix, requested_at=ago(days=days))
    assert prune(NOW)["networks"] == 2
    assert set(Location.objects.values_list("pk", flat=True)) == {"49.65.250.0/24", "49.65.251.0/24"}


def test_losses_are_kept_as_long_as_counts():
    for days in (1, 300, 800):
        Loss.objects.create(loss_id=str(days), time=ago(days=days), dropped=1, refused=0, errors=0)
    prune(NOW)
    assert left(Loss, "time") == [1, 300]


def test_many_are_deleted_in_batches(monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 3)
    same = ago(days=200)
    requests(*[same] * 5, *[ago(days=200 + n) for n in range(6)])
    assert prune(NOW)["requests"] == 11
    assert not AccessLog.objects.exists()


def test_it_stops_between_batches_when_it_should(monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 2)
    requests(*[ago(days=200 + n) for n in range(6)])
    asked = iter([False, True])
    prune(NOW, should_stop=lambda: next(asked, True))
    assert AccessLog.objects.count() == 4


def test_without_time_zones_too(settings):
    settings.USE_TZ = False
    now = timezone.now()
    requests(now - 200 * DAY, now)
    assert prune()["requests"] == 1


@pytest.mark.skipif(connection.vendor == "mysql", reason="explains otherwise")
def test_neither_scans_nor_sorts_the_log(monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 100)  # to the table as 5,000 to one of 200,000
    requests(*[ago(days=n % 400, seconds=n) for n in range(4000)])
    Location.objects.bulk_create(Location(prefix=f"10.{n}.0.0/24", requested_at=ago(days=300)) for n in range(255))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    plan = plan_of(lambda: prune(NOW), "SELECT")
    for step in (
        "Seq Scan on locqueue_accesslog_accesslog",
        "SCAN locqueue_accesslog_accesslog\n",
        "Sort",
        "TEMP B-TREE",
    ):
        assert step not in plan
    assert all("SCAN locqueue_accesslog_accesslog\n" not in f"{plan}\n" for plan in plans(lambda: prune(NOW)))


# The tasks


def test_it_is_done_every_night():
    from django_locqueue.scheduler import defined

    [schedule] = [each for each in defined.defined_schedules() if each.definition is prune_access_log]
    assert schedule.cron == "23 3 * * *"


def test_the_task_deletes():
    requests(timezone.now() - 200 * DAY)
    prune_access_log.enqueue()
    run_tasks()
    assert not AccessLog.objects.exists()


def test_what_was_to_be_stored_is_in_the_log_alone():
    record_hits.enqueue([a_hit().to_json()])
    run_tasks()
    assert AccessLog.objects.count() == 1
    assert not Task.objects.filter(task_path=record_hits.module_path).exists()
