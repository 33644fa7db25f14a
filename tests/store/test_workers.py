"""Worker rows: register, beat, stop, forget."""

from datetime import timedelta

import pytest

from django_locqueue.models import Worker
from django_locqueue.store import Store
from tests.store.rows import NOW, ago, later


def test_a_new_worker_s_lease_begins_now(store: Store):
    worker = store.register_worker("w", lease=30, queues="a,b", threads=4, version="1.0", now=NOW)
    worker.refresh_from_db()
    assert (worker.name, worker.queues, worker.threads, worker.version) == ("w", "a,b", 4, "1.0")
    assert (worker.started_at, worker.heartbeat_at, worker.lease_until) == (NOW, NOW, later(seconds=30))
    assert (worker.stopping, worker.stopped_at) == (False, None)


def test_without_a_given_time_the_lease_is_the_database_s(store: Store):
    before = store.now()
    worker = store.register_worker("w", lease=30)
    assert before <= worker.started_at <= store.now()
    assert worker.lease_until - worker.started_at <= timedelta(seconds=30.1)


def test_two_workers_may_have_the_same_name(store: Store):
    assert store.register_worker("w", lease=30).pk != store.register_worker("w", lease=30).pk


def test_a_heartbeat_extends_the_lease(store: Store):
    worker = store.register_worker("w", lease=30, now=ago(seconds=10))
    assert store.heartbeat(worker.pk, lease=30, now=NOW)
    worker.refresh_from_db()
    assert (worker.heartbeat_at, worker.lease_until) == (NOW, later(seconds=30))


def test_a_heartbeat_says_that_the_worker_is_stopping(store: Store):
    worker = store.register_worker("w", lease=30)
    store.heartbeat(worker.pk, lease=30, stopping=True)
    worker.refresh_from_db()
    assert worker.stopping


def test_a_late_heartbeat_is_accepted_as_long_as_nobody_gave_the_worker_up(store: Store):
    worker = store.register_worker("w", lease=1, now=ago(hours=1))
    assert store.heartbeat(worker.pk, lease=30, now=NOW)
    assert store.rescue(max_crashes=3, now=NOW) == []


def test_a_worker_that_was_given_up_cannot_beat_again(store: Store):
    worker = store.register_worker("w", lease=1, now=ago(hours=1))
    store.rescue(max_crashes=3, now=NOW)
    assert not store.heartbeat(worker.pk, lease=30, now=NOW)
    worker.refresh_from_db()
    assert worker.lease_until < NOW


def test_a_worker_that_stopped_cannot_beat_again(store: Store):
    worker = store.register_worker("w", lease=30)
    store.stop_worker(worker.pk)
    assert not store.heartbeat(worker.pk, lease=30)


def test_a_worker_without_a_row_cannot_beat(store: Store):
    assert not store.heartbeat(987_654, lease=30)


def test_stopping_twice_keeps_the_first_time(store: Store):
    worker = store.register_worker("w", lease=30)
    store.stop_worker(worker.pk, now=NOW)
    store.stop_worker(worker.pk, now=later(hours=1))
    worker.refresh_from_db()
    assert worker.stopped_at == NOW


@pytest.mark.parametrize("hours", [1, 24])
def test_workers_that_stopped_long_ago_are_forgotten(store: Store, hours: float):
    live = store.register_worker("live", lease=1, now=ago(days=9))
    young = store.register_worker("young", lease=30)
    old = store.register_worker("old", lease=30)
    store.stop_worker(young.pk, now=ago(hours=hours - 0.5))
    store.stop_worker(old.pk, now=ago(hours=hours + 0.5))
    assert store.prune_workers(hours=hours, now=NOW) == 1
    assert set(Worker.objects.values_list("pk", flat=True)) == {live.pk, young.pk}


def test_h1_forgetting_a_worker_leaves_its_tasks_to_be_rescued(store: Store, django_assert_num_queries):
    worker = store.register_worker("old", lease=30)
    store.stop_worker(worker.pk, now=ago(days=2))
    with django_assert_num_queries(1):  # no task row is touched
        store.prune_workers(hours=24, now=NOW)
