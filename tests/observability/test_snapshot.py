"""The one answer to how the queue is."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from django_locqueue.models import Queue, Schedule, Task, TaskStat, Worker
from django_locqueue.observability import snapshot as snapshots
from django_locqueue.observability.history import shared_history
from django_locqueue.observability.snapshot import MOST_TASKS, QueueState, Snapshot, WorkerState, snapshot
from django_locqueue.observability.verdict import Limits, judge
from django_locqueue.statement_limit import TooSlow, statement_limit
from django_locqueue.store import store_for
from tests.store.plans import plans
from tests.store.rows import put, put_many, waiting_since


@pytest.fixture
def now(db):
    return store_for("default").now()


def seen() -> Snapshot:
    return snapshot(fresh=True)


def the_queue(name="default"):
    [found] = [each for each in seen().queues if each.name == name]
    return found


def new_worker(now, name="web-1:1", *, lease=30, **columns):
    columns = {"started_at": now - timedelta(minutes=1), "heartbeat_at": now, "threads": 4, **columns}
    return Worker.objects.create(name=name, lease_until=now + timedelta(seconds=lease), **columns)


def test_tasks_are_counted_by_queue_and_state(now):
    put_many(3, queue_name="mail", run_after=now)
    put("blocked", queue_name="mail", limit_key="smtp", run_after=now)
    put("scheduled", queue_name="mail", run_after=now + timedelta(hours=1))
    put("scheduled", queue_name="mail", run_after=now + timedelta(hours=1), attempt=2)
    put("running", queue_name="mail", worker_id=1, last_attempted_at=now)
    put("failed", queue_name="mail", finished_at=now - timedelta(hours=2))
    put("failed", queue_name="mail", finished_at=now - timedelta(hours=25))
    mail = the_queue("mail")
    assert (mail.ready, mail.limited, mail.scheduled, mail.retrying, mail.running, mail.failed_24h) == (
        3,
        1,
        2,
        1,
        1,
        1,
    )


def test_totals_are_of_all_queues(now):
    for name in ("mail", "news"):
        put(queue_name=name, run_after=now)
        put("failed", queue_name=name, finished_at=now, attempt=2)
    put("failed", finished_at=now, dismissed=True)
    total = seen()
    assert (total.ready, total.failed, total.failed_hour, total.retried, total.pending) == (2, 2, 3, 2, 2)


def test_the_oldest_ready_task_is_found_behind_urgent_ones(now):
    put_many(50, priority=10, run_after=now)
    put(priority=-5, **waiting_since(now - timedelta(minutes=14)))
    assert the_queue().oldest_ready_seconds == pytest.approx(14 * 60, abs=30)
    assert seen().oldest_ready_seconds == pytest.approx(14 * 60, abs=30)


def test_a_task_waits_from_when_it_was_enqueued_whatever_time_its_caller_wrote(now):
    put(run_after=now - timedelta(days=365 * 2000), enqueued_at=now - timedelta(minutes=1))
    assert the_queue().oldest_ready_seconds == pytest.approx(60, abs=30)


def test_a_queue_without_tasks_has_no_oldest(now):
    Queue.objects.create(name="mail")
    assert the_queue("mail").oldest_ready_seconds is None


@pytest.mark.parametrize(
    ("queues", "serves_mail", "serves_news"),
    [("", True, True), ("mail", True, False), ("all,-mail", False, True), ("mail,news,-news", True, False)],
)
def test_a_worker_serves_what_its_row_says(now, queues, serves_mail, serves_news):
    Queue.objects.create(name="mail")
    Queue.objects.create(name="news")
    new_worker(now, queues=queues)
    states = {queue.name: queue.state for queue in seen().queues}
    assert [states[name] == QueueState.ACTIVE for name in ("mail", "news")] == [serves_mail, serves_news]


def test_a_queue_is_active_paused_draining_or_without_a_worker(now):
    put(queue_name="mail", run_after=now)
    assert the_queue("mail").state == QueueState.NO_WORKER
    assert [queue.name for queue in seen().unserved] == ["mail"]
    worker = new_worker(now)
    assert the_queue("mail").state == QueueState.ACTIVE
    Worker.objects.filter(pk=worker.pk).update(stop_requested=True)
    assert the_queue("mail").state == QueueState.DRAINING
    Queue.objects.create(name="mail", paused_at=now, paused_by="alice")
    assert (the_queue("mail").state, the_queue("mail").paused_by) == (QueueState.PAUSED, "alice")
    Queue.objects.update(paused_until=now - timedelta(seconds=1))
    assert the_queue("mail").state == QueueState.DRAINING


def test_the_states_of_workers(now):
    Queue.objects.create(name="mail", paused_at=now)
    new_worker(now, "idle", queues="default")
    busy = new_worker(now, "busy")
    new_worker(now, "paused", queues="mail")
    new_worker(now, "starting", started_at=now)
    new_worker(now, "stopping", stopping=True)
    new_worker(now, "lost", lease=-5)
    new_worker(now, "gone", stopped_at=now)
    put("running", worker_id=busy.pk, last_attempted_at=now)
    assert {worker.name: worker.state for worker in seen().workers} == {
        name: WorkerState(name) for name in ("idle", "busy", "paused", "starting", "stopping", "lost")
    }
    assert [worker.name for worker in seen().live_workers] == ["busy", "idle", "paused", "starting", "stopping"]


def test_a_worker_shows_what_it_runs_the_longest_running_first(now):
    worker = new_worker(now, threads=20)
    for number in range(MOST_TASKS + 2):
        put("running", worker_id=worker.pk, last_attempted_at=now - timedelta(seconds=10 * number))
    [found] = seen().workers
    assert (found.busy, len(found.running)) == (MOST_TASKS + 2, MOST_TASKS)
    assert found.running[0].seconds == pytest.approx(10 * (MOST_TASKS + 1), abs=30)
    assert (seen().busy, seen().slots) == (MOST_TASKS + 2, 20)


def test_a_queues_speed_is_that_of_the_last_quarter_of_an_hour(now):
    span = {"seconds": TaskStat.MINUTE, "queue_name": "mail", "task_path": "shop.tasks.send"}
    start = now.replace(second=0, microsecond=0) - timedelta(minutes=5)
    TaskStat.objects.create(start=start, succeeded=150, wait_5=150, **span)
    TaskStat.objects.create(start=start - timedelta(hours=1), succeeded=9999, **span)
    put(queue_name="mail", run_after=now)
    mail = the_queue("mail")
    assert 150 / 15 <= mail.per_minute <= 150 / 14
    assert mail.wait_p95 is not None
    assert seen().per_minute == pytest.approx(mail.per_minute, rel=0.1)


def test_the_next_that_is_due_and_the_next_retry_are_told(now):
    put("scheduled", run_after=now + timedelta(seconds=100))
    put("scheduled", run_after=now + timedelta(seconds=500), attempt=1)
    assert seen().next_due_seconds == pytest.approx(100, abs=30)
    assert seen().next_retry_seconds == pytest.approx(500, abs=30)


def test_functions_that_no_worker_finds_are_told(now):
    for _ in range(2):
        put("scheduled", run_after=now + timedelta(hours=1), task_path="shop.tasks.old_job", unknown_since=now)
    put("scheduled", run_after=now + timedelta(hours=1))
    assert [(each.path, each.count) for each in seen().unknown] == [("shop.tasks.old_job", 2)]


def test_schedules_that_nobody_serves_are_told(now):
    assert seen().is_scheduling
    rule = Schedule.objects.create(name="often", task_path="tests.tasks.add", every=10, next_at=now)
    assert not seen().is_scheduling  # no worker
    new_worker(now)
    assert seen().is_scheduling
    Schedule.objects.filter(pk=rule.pk).update(next_at=now - timedelta(minutes=2))
    assert not seen().is_scheduling  # every worker runs with --no-scheduler


def test_the_databases_clock_is_compared(now, monkeypatch):
    assert abs(seen().clock_seconds) < 5
    real = store_for("default").now()
    monkeypatch.setattr(type(store_for("default")), "now", lambda self: real + timedelta(seconds=41))
    assert seen().clock_seconds == pytest.approx(41, abs=5)


def test_missing_migrations_are_told_and_nothing_else_is_read(now, monkeypatch):
    monkeypatch.setattr("django_locqueue.observability.snapshot.missing_migrations", lambda alias: ["0009_more"])
    put(run_after=now)
    with CaptureQueriesContext(connection) as queries:
        found = seen()
    assert (found.missing_migrations, found.queues, len(_read(queries))) == (["0009_more"], (), 1)


def test_migrations_are_read_until_all_are_there(db):
    from django_locqueue.observability import migrations

    migrations._complete.clear()
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'locqueue' AND name LIKE '0004%%'")
    assert [name[:4] for name in migrations.missing_migrations("default")] == ["0004"]
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('locqueue', %s, CURRENT_TIMESTAMP)",
            ["0004_oversight"],
        )
    assert migrations.missing_migrations("default") == []


def test_it_costs_the_same_whatever_there_is(now):
    with CaptureQueriesContext(connection) as of_nothing:
        seen()
    for name in "abcdefgh":
        put(queue_name=name, run_after=now)
        put("running", queue_name=name, worker_id=new_worker(now, name).pk, last_attempted_at=now)
    with CaptureQueriesContext(connection) as of_much:
        seen()
    assert len(_read(of_much)) == len(_read(of_nothing)) == 9


def _read(captured):
    """Leave out the transaction of a limit."""
    limit = ("SAVEPOINT", "SELECT SET_CONFIG", "ROLLBACK", "RELEASE")
    return [each["sql"] for each in captured if not each["sql"].startswith(limit)]


def test_of_very_many_queues_those_are_shown_in_which_something_waits(now, monkeypatch):
    monkeypatch.setattr("django_locqueue.observability.snapshot.MOST_QUEUES", 3)
    Queue.objects.bulk_create([Queue(name=f"idle-{number}") for number in range(5)])
    put(queue_name="mail", run_after=now)
    put("blocked", queue_name="limited", limit_key="smtp", run_after=now)
    assert [queue.name for queue in seen().queues] == ["idle-0", "limited", "mail"]
    assert seen().ready == 1


def test_counts_end_at_the_cap(now, monkeypatch):
    monkeypatch.setattr("django_locqueue.observability.snapshot.CAP", 3)
    for state in ("ready", "scheduled", "failed", "running"):
        put_many(6, state, run_after=now, finished_at=now, last_attempted_at=now, attempt=2)
    found = seen()
    assert (found.ready, found.scheduled, found.failed, found.running, found.retried) == (4, 4, 4, 4, 4)
    assert (the_queue().ready, the_queue().failed_24h) == (4, 4)


def test_readers_share_what_was_read_for_some_seconds(now, settings):
    settings.LOCQUEUE = {"ADMIN": {"COUNTS_SECONDS": 3600}}
    first = snapshot()
    put(run_after=now)
    assert snapshot() is first
    assert snapshot(fresh=True).ready == 1
    assert snapshot().ready == 1  # and so for the others
    settings.LOCQUEUE = {"ADMIN": {"COUNTS_SECONDS": 0}}
    Task.objects.all().delete()
    assert snapshot().ready == 0


def test_while_one_thread_reads_the_others_are_given_what_there_was(now, settings, monkeypatch):
    settings.LOCQUEUE = {"ADMIN": {"COUNTS_SECONDS": 0}}
    first, reads, goes_on = snapshot(), threading.Event(), threading.Event()

    def take(store):
        reads.set()
        assert goes_on.wait(10)
        return replace(first, ready=7)

    def read():
        try:
            return snapshot()
        finally:
            connection.close()  # the thread's own

    monkeypatch.setattr(snapshots, "_take", take)
    with ThreadPoolExecutor() as pool:
        reader = pool.submit(read)
        assert reads.wait(10)
        assert snapshot() is first
        goes_on.set()
        assert reader.result(10).ready == 7


def test_of_a_database_that_is_too_slow_there_are_old_numbers_with_their_age(now, monkeypatch):
    def take(store):
        raise TooSlow

    put(run_after=now)
    first = seen()
    monkeypatch.setattr(snapshots, "_take", take)
    assert seen() is first
    snapshots._kept["default"].read_at -= 3600
    for fresh in (True, False):
        found = snapshot(fresh=fresh)
        assert (found.ready, round(found.late_seconds / 60)) == (1, 60)
    assert "The database is slow: these numbers are 60 min old" in judge([found], Limits(60, 10, 0)).problems


def test_of_a_database_that_was_always_too_slow_there_is_an_error_of_the_database(now, monkeypatch):
    monkeypatch.setattr(snapshots, "_take", lambda store: Task.objects.raw("this is not reached"))
    monkeypatch.setattr(snapshots, "WAIT_SECONDS", 0)
    with snapshots._kept.setdefault("default", snapshots._Kept()).lock, pytest.raises(DatabaseError):
        snapshot()


def test_many_open_tabs_read_what_has_been_once(now):
    found = shared_history("1h", now=now)
    with CaptureQueriesContext(connection) as queries:
        assert shared_history("1h", now=now) is found
    assert not queries.captured_queries
    assert shared_history("1h", now=now + timedelta(seconds=5)) is not found


@pytest.mark.parametrize("statistics", ["empty", "full"])
def test_no_statement_scans_or_sorts_the_tasks(now, statistics, monkeypatch):
    monkeypatch.setattr("django_locqueue.observability.snapshot.CAP", 50)  # as 10,000 is to a large table
    if connection.vendor == "mysql":
        pytest.skip("MySQL has no partial indexes")
    if statistics == "empty":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    for state in ("ready", "scheduled", "running", "failed", "successful"):
        put_many(400, state, run_after=now, finished_at=now, last_attempted_at=now, worker_id=1)
    put_many(20, "blocked", limit_key="smtp")
    if statistics == "full":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
    scan = "Seq Scan on locqueue_task" if connection.vendor == "postgresql" else "SCAN locqueue_task\n"
    sort = "Sort Key: locqueue_task" if connection.vendor == "postgresql" else "USE TEMP B-TREE FOR ORDER BY"
    with statement_limit("default", 3):  # as they are read
        found = [plan for plan in plans(seen) if "locqueue_task " in plan]
    assert len(found) >= 5
    for plan in found:
        assert scan not in f"{plan}\n", plan
        assert sort not in plan, plan
