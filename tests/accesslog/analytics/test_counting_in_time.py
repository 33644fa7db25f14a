"""Counts and the transactions of others; and the schedule that makes them."""

import datetime
import threading

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from django_locqueue.accesslog.analytics import days
from django_locqueue.accesslog.analytics.counting import count, store
from django_locqueue.accesslog.analytics.period import hour_of
from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.analytics.tasks import count_hours, count_stale_hours
from django_locqueue.accesslog.models import HourlyStat, StaleHour
from django_locqueue.accesslog.tasks import record_hits
from django_locqueue.models import Task
from django_locqueue.testing import run_tasks, travel
from tests.accesslog.analytics.rows import HOUR, log, logged
from tests.accesslog.conftest import a_hit


def counted():
    return sum(HourlyStat.objects.filter(dimension="all").values_list("hits", flat=True))


@pytest.mark.django_db(transaction=True)
def test_a_batch_that_commits_after_a_count_began_is_counted_by_the_next():
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time: the count waits for the batch")
    stored, may_commit = threading.Event(), threading.Event()

    def store_a_batch():
        try:
            with transaction.atomic():
                log(logged())
                mark_stale([HOUR])
                stored.set()
                may_commit.wait(20)
        finally:
            connections.close_all()

    batch = threading.Thread(target=store_a_batch)
    batch.start()
    try:
        assert stored.wait(20)
        log(logged())
        mark_stale([HOUR])
        assert count_stale_hours() == 1
        assert counted() == 1
    finally:
        may_commit.set()
        batch.join(20)
    assert count_stale_hours() == 1
    assert counted() == 2
    assert not StaleHour.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_hour_that_two_workers_count_at_once_is_not_doubled():
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    log(logged())
    mark = StaleHour.objects.create(hour=HOUR)
    late = StaleHour.objects.create(hour=HOUR)
    waiting, stored = threading.Event(), []

    def count_too():
        try:
            rows = count(HOUR)
            waiting.set()
            stored.append(store(HOUR, rows, [mark.pk, late.pk]))
        finally:
            connections.close_all()

    other = threading.Thread(target=count_too)
    with transaction.atomic():
        assert store(HOUR, count(HOUR), [mark.pk])
        other.start()
        assert waiting.wait(20)
    other.join(20)
    assert stored == [False]
    assert counted() == 1
    assert StaleHour.objects.count() == 1  # it is counted again


@pytest.mark.django_db(transaction=True)
def test_an_hour_that_is_first_counted_while_its_day_is_added_up_is_in_the_sums_or_these_are_gone(monkeypatch):
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    yesterday, added_up = HOUR - days.DAY, []
    rows = [logged(hour=days.day_of(yesterday)), logged(hour=days.day_of(yesterday) + days.DAY / 2)]
    log(rows[0])
    mark_stale([rows[0].time])
    count_stale_hours()
    log(rows[1])
    late = StaleHour.objects.create(hour=hour_of(rows[1].time))
    began, forget_day = threading.Event(), days.forget_day

    def forgetting(day):
        began.set()  # its rows are read, and do not hold the late hour
        return forget_day(day)

    def add_up():
        try:
            added_up.append(days.add_up(days.day_of(yesterday)))
        finally:
            connections.close_all()

    monkeypatch.setattr(days, "forget_day", forgetting)
    other = threading.Thread(target=add_up)
    with transaction.atomic():
        assert store(late.hour, count(late.hour), [late.pk])
        other.start()
        assert began.wait(20)
    other.join(20)
    assert added_up == [False]
    assert not HourlyStat.objects.filter(dimension="+all").exists()


@pytest.mark.django_db
def test_a_worker_counts_what_was_recorded_within_a_minute():
    run_tasks(schedules=True)  # from now on its slots are known
    now = timezone.now().timestamp()
    record_hits.enqueue([a_hit(ip=None, time=now).to_json()])
    with travel(datetime.timedelta(seconds=61)):
        run_tasks(schedules=True, check=True)
    assert counted() == 1


@pytest.mark.django_db
def test_counting_leaves_no_task_behind():
    count_hours.enqueue()
    run_tasks(check=True)
    assert not Task.objects.filter(task_path=count_hours.module_path).exists()


@pytest.mark.django_db
def test_counting_is_not_enqueued_twice_while_it_waits():
    count_hours.enqueue()
    assert count_hours.enqueue().is_duplicate
