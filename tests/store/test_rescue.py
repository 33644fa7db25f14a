"""Rescue: the tasks of dead workers come back, each charged one crash; those of the living are left alone."""

import threading
from typing import Any

import pytest
from django.db import DataError, OperationalError, connection
from django.test.utils import CaptureQueriesContext

from django_locqueue.models import Task, Worker
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Claimed, Store
from django_locqueue.store.recover import LOST
from django_locqueue.store.serve import Owner
from tests.processes import wait_until
from tests.store.races import in_thread
from tests.store.rows import (
    NOW,
    ago,
    attempts,
    changed,
    claim_one,
    enqueue,
    later,
    outcome,
    owner_of,
    put,
    row,
    running,
    state,
)


def rescue(store: Store, *, max_crashes: int = 3, **options: Any) -> list[int]:
    return [rescued.id for rescued in store.rescue(max_crashes=max_crashes, **{"now": NOW, **options})]


def orphaned(store: Store, owner: Owner, **columns: Any) -> Claimed:
    """Claim a task for a worker that then dies."""
    task = running(store, owner)
    Task.objects.filter(pk=task.id).update(**columns)
    store.stop_worker(owner.id, now=ago(seconds=1))
    return task


def _once(wrapper: Any) -> Any:
    """Return a wrapper of statements that is not called for those which it sends itself."""
    inside: list[None] = []

    def execute(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if inside:
            return execute(sql, params, many, context)
        inside.append(None)
        try:
            return wrapper(execute, sql, params, many, context)
        finally:
            inside.clear()

    return execute


# -- whose tasks are taken


def test_the_tasks_of_a_live_worker_are_left_alone(store: Store, owner: Owner):
    task = running(store, owner)
    before = row(task.id)
    assert rescue(store) == []
    assert row(task.id) == before


def test_the_tasks_of_a_worker_whose_lease_has_run_out_are_taken(store: Store):
    worker = store.register_worker("silent", lease=30, now=ago(seconds=31))
    task = running(store, owner_of(worker))
    assert rescue(store) == [task.id]


def test_a_lease_holds_until_its_last_moment(store: Store):
    worker = store.register_worker("slow", lease=30, now=NOW)
    running(store, owner_of(worker))
    assert rescue(store, now=later(seconds=29.9)) == []
    assert len(rescue(store, now=later(seconds=30))) == 1


def test_a_heartbeat_in_time_saves_the_tasks(store: Store):
    worker = store.register_worker("slow", lease=30, now=ago(seconds=29))
    running(store, owner_of(worker))
    store.heartbeat(worker.pk, lease=30, now=NOW)
    assert rescue(store, now=later(seconds=29)) == []


def test_the_tasks_of_a_stopped_worker_are_taken(store: Store, owner: Owner):
    assert rescue(store) == []
    task = orphaned(store, owner)
    assert rescue(store) == [task.id]


def test_the_tasks_of_a_worker_without_a_row_are_taken(store: Store, owner: Owner):
    task = running(store, owner)
    Worker.objects.all().delete()
    assert rescue(store) == [task.id]


def test_a_running_task_of_nobody_is_taken(store: Store):
    assert rescue(store) == [pk := put("running", attempt=1, worker_ids="x\n")] or state(pk) == "running"
    assert rescue(store) == [pk]


@pytest.mark.parametrize("kept", ["scheduled", "ready", "blocked", "successful", "failed", "cancelled"])
def test_only_running_tasks_are_taken(store: Store, owner: Owner, kept: str):
    pk = put(kept, worker_id=owner.id)
    store.stop_worker(owner.id, now=NOW)
    before = row(pk)
    assert rescue(store) == []
    assert row(pk) == before


def test_an_expired_worker_is_given_up(store: Store):
    worker = store.register_worker("silent", lease=1, now=ago(seconds=2))
    rescue(store)
    worker.refresh_from_db()
    assert worker.stopped_at == NOW


def test_the_lease_is_judged_by_the_database_s_clock(store: Store):
    good = store.register_worker("good", lease=60)
    bad = store.register_worker("bad", lease=-1)
    tasks = [running(store, owner_of(good)), running(store, owner_of(bad))]
    assert rescue(store, now=None) == [tasks[1].id]


def test_no_more_than_the_limit_are_taken_at_once_the_oldest_first(store: Store, owner: Owner):
    tasks = [running(store, owner) for _ in range(5)]
    store.stop_worker(owner.id, now=NOW)
    assert rescue(store, limit=2) == [task.id for task in tasks[:2]]
    assert rescue(store, limit=9) == [task.id for task in tasks[2:]]


# -- what happens to them


def test_the_first_crash_makes_a_task_ready_at_once(store: Store, owner: Owner):
    task = running(store, owner)
    before = row(task.id)
    store.stop_worker(owner.id)
    (rescued,) = store.rescue(max_crashes=3, now=NOW)
    assert (rescued.id, rescued.state, rescued.worker_name, rescued.crashes) == (task.id, "ready", "first", 1)
    assert changed(before, row(task.id)) == {
        "state": "ready",
        "crashes": 1,
        "worker_id": None,
        "error_class": "django_locqueue.exceptions.WorkerLost",
        "error_message": "The worker died while running it, 1 time.",
        "error_group_id": LOST.fingerprint,
    }


def test_each_further_crash_waits_longer(store: Store, owner: Owner):
    waits = []
    for crashes in range(1, 6):
        task = orphaned(store, owner, crashes=crashes)
        (rescued,) = store.rescue(max_crashes=100, now=NOW)
        assert rescued.state == "scheduled"
        waits.append((row(task.id)["run_after"] - NOW).total_seconds())
        Worker.objects.update(stopped_at=None)
    assert waits == sorted(waits)
    assert waits[0] > 1


def test_at_the_limit_a_task_fails_and_says_why(store: Store, owner: Owner):
    task = orphaned(store, owner, crashes=2)
    before = row(task.id)
    (rescued,) = store.rescue(max_crashes=3, now=NOW)
    assert rescued.state == "failed"
    assert changed(before, row(task.id)) == {
        "state": "failed",
        "crashes": 3,
        "worker_id": None,
        "finished_at": NOW,
        "error_class": "django_locqueue.exceptions.WorkerLost",
        "error_message": "The worker died while running it, 3 times.",
        "error_group_id": LOST.fingerprint,
    }


def test_a_task_that_kills_its_workers_runs_max_crashes_times(store: Store):
    pk = enqueue(store).id
    for number in range(1, 4):
        worker = store.register_worker(f"victim {number}", lease=30, now=NOW)
        claim_one(store, owner_of(worker))
        store.stop_worker(worker.pk, now=NOW)
        store.rescue(max_crashes=3, now=NOW)
        store.promote(now=later(hours=2))
    assert (state(pk), row(pk)["attempt"]) == ("failed", 3)
    assert [each["worker_name"] for each in attempts(pk)] == ["victim 1", "victim 2", "victim 3"]


def test_a_crash_leaves_an_attempt(store: Store, owner: Owner):
    task = orphaned(store, owner)
    rescue(store)
    (attempt,) = attempts(task.id)
    del attempt["id"]
    assert attempt == {
        "task_id": task.id,
        "number": 1,
        "outcome": "crashed",
        "worker_name": "first",
        "started_at": ago(seconds=10),
        "finished_at": NOW,
        "error_class": "django_locqueue.exceptions.WorkerLost",
        "error_message": "The worker died while running it, 1 time.",
        "traceback": "",
    }


def test_a_task_that_was_asked_to_stop_is_cancelled(store: Store, owner: Owner):
    task = orphaned(store, owner, cancel_requested=True)
    rescue(store)
    assert (state(task.id), row(task.id)["finished_at"]) == ("cancelled", NOW)


def test_a_task_that_was_asked_to_stop_keeps_the_reason(store: Store, owner: Owner):
    task = orphaned(store, owner, cancel_requested=True, cancel_reason="the order is gone")
    rescue(store)
    stored = row(task.id)
    assert (stored["error_class"], stored["error_message"]) == (
        "django_locqueue.exceptions.Cancel",
        "the order is gone",
    )
    assert attempts(task.id)[0]["error_class"] == "django_locqueue.exceptions.WorkerLost"


def test_each_backend_s_own_limit_of_crashes_counts(store: Store, owner: Owner):
    frail, hardy = orphaned(store, owner, backend_alias="frail"), orphaned(store, owner)
    rescue(store, max_crashes=3, by_backend={"frail": 1})
    assert (state(frail.id), state(hardy.id)) == ("failed", "ready")


def test_a_row_that_was_claimed_anew_between_the_look_and_the_write_is_left_alone(store: Store, owner: Owner):
    task = orphaned(store, owner)

    def claimed_anew(execute, sql, params, many, context):
        if sql.startswith("UPDATE") and "crashes" in sql:
            with connection.cursor() as cursor:
                cursor.execute("UPDATE locqueue_task SET claim_no = 2 WHERE id = %s", [task.id])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(_once(claimed_anew)):
        assert rescue(store) == []
    assert (state(task.id), row(task.id)["crashes"], attempts(task.id)) == ("running", 0, [])


def test_the_dead_worker_s_outcome_is_refused(store: Store, owner: Owner):
    task = orphaned(store, owner)
    rescue(store)
    assert store.ack([(task, outcome(Kind.SUCCESSFUL))]) == {}


def test_a_rescued_task_is_not_rescued_again(store: Store, owner: Owner):
    orphaned(store, owner)
    assert len(rescue(store)) == 1
    assert rescue(store) == []


# -- a sweep that is not thorough


def test_a_sweep_that_is_not_thorough_takes_the_tasks_of_workers_that_have_stopped(store: Store, owner: Owner):
    task = orphaned(store, owner)
    assert rescue(store, thorough=False) == [task.id]


def test_a_sweep_that_is_not_thorough_takes_the_tasks_of_workers_whose_lease_runs_out_now(store: Store):
    task = running(store, owner_of(store.register_worker("silent", lease=30, now=ago(seconds=31))))
    assert rescue(store, thorough=False) == [task.id]


def test_a_sweep_that_is_not_thorough_leaves_what_belongs_to_no_worker_to_the_next(store: Store, owner: Owner):
    task = running(store, owner)
    Worker.objects.all().delete()
    assert rescue(store, thorough=False) == []
    assert rescue(store) == [task.id]


def test_a_worker_with_nothing_left_is_settled_and_not_looked_at_again(store: Store, owner: Owner):
    orphaned(store, owner)
    assert len(rescue(store, thorough=False)) == 1
    assert Worker.objects.unsettled().count() == 1  # a claim of its own may commit yet
    assert rescue(store, thorough=False, now=later(minutes=2)) == []
    assert Worker.objects.unsettled().count() == 0
    with CaptureQueriesContext(connection) as queries:
        rescue(store, thorough=False, now=later(minutes=3))
    assert not any("locqueue_task" in query["sql"] for query in queries)


def test_a_worker_whose_tasks_could_not_be_rescued_is_not_settled(store: Store, owner: Owner):
    put("running", worker_id=owner.id, attempt=1, claim_no=1)
    store.stop_worker(owner.id, now=ago(minutes=5))
    assert rescue(store, thorough=False, limit=0) == []
    assert Worker.objects.unsettled().count() == 1


# -- one unlucky row


def test_a8_a_row_that_cannot_be_rescued_does_not_hold_up_the_others(store: Store, owner: Owner):
    *_, unlucky, second, third = [running(store, owner).id for _ in range(9)]  # ids that are no attempt's number
    Task.objects.filter(pk__lt=unlucky).delete()
    store.stop_worker(owner.id, now=NOW)

    def refuse(execute, sql, params, many, context):
        if sql.startswith("INSERT") and "locqueue_taskattempt" in sql and unlucky in params:
            raise DataError("this row is not to be written")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        assert rescue(store) == [second, third]
    assert state(unlucky) == "running"
    assert rescue(store) == [unlucky]


def test_a_database_that_goes_away_ends_the_sweep_at_the_first_row(
    store: Store, owner: Owner, monkeypatch: pytest.MonkeyPatch
):
    for _ in range(3):
        running(store, owner)
    store.stop_worker(owner.id, now=NOW)
    tried = []

    def go_away(task: Task, *args: Any) -> None:
        tried.append(task.pk)
        monkeypatch.setattr(connection, "is_usable", lambda: False)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(store, "_rescue_one", go_away)
    with pytest.raises(OperationalError):
        rescue(store)
    assert len(tried) == 1


@pytest.mark.parametrize(
    "damage", [{"worker_ids": ""}, {"worker_ids": "x" * 300 + "\n"}, {"last_attempted_at": None}, {"attempt": 0}]
)
def test_a_row_that_was_damaged_by_hand_is_rescued(store: Store, owner: Owner, damage: dict[str, Any]):
    task = orphaned(store, owner, **damage)
    assert rescue(store) == [task.id]


# -- a row that changes while it is looked for


@pytest.mark.django_db(transaction=True)
def test_a_task_that_a_live_worker_has_just_claimed_is_left_alone(store: Store, owner: Owner, needs_postgresql: None):
    """PostgreSQL looks at a changed row again, but with the other tables as they were when the statement began."""
    task = orphaned(store, owner)
    thieves: list[threading.Thread] = []
    has_lock = threading.Event()

    def between(execute, sql, params, many, context):
        if "SKIP LOCKED" not in sql or thieves:
            return execute(sql, params, many, context)
        # The snapshot is taken, then the statement waits; meanwhile another sweep and a new worker are at work.
        thieves.append(threading.Thread(target=lambda: in_thread(steal)))
        thieves[0].start()
        assert has_lock.wait(30)
        slow = sql.replace(" WHERE (", " WHERE (SELECT pg_advisory_xact_lock(4711) IS NOT NULL) AND (", 1)
        assert slow != sql
        return execute(slow, params, many, context)

    def steal() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(4711)")
            has_lock.set()
            wait_until(is_waited_for)
            store.rescue(max_crashes=3, now=NOW)
            claim_one(store, owner_of(store.register_worker("live", lease=60, now=NOW)))
            cursor.execute("SELECT pg_advisory_unlock(4711)")

    def is_waited_for() -> bool:
        with connection.cursor() as cursor:
            cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)")
            return bool(cursor.fetchone()[0])

    with connection.execute_wrapper(between):
        assert rescue(store) == []
    thieves[0].join()
    assert (state(task.id), row(task.id)["claim_no"]) == ("running", 2)
