"""Claim: who gets what, and what the claim writes."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_locqueue.models import Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.census import Census
from django_locqueue.store.serve import Mark, Owner
from tests.store.rows import EMPTY_CALL, NOW, PATH, ago, changed, claim_one, enqueue, later, outcome, put, row


def test_nothing_to_claim_is_an_empty_list(store: Store, owner: Owner):
    assert store.claim(owner, 10) == []


def test_a_claimed_task_is_not_claimed_again(store: Store, owner: Owner, other: Owner):
    enqueue(store)
    assert len(store.claim(owner, 10)) == 1
    assert store.claim(other, 10) == []


@pytest.mark.parametrize("limit", [0, 1, 2, 7, 8])
def test_the_limit_is_never_exceeded(store: Store, owner: Owner, limit: int):
    for number in range(7):
        put(queue_name=f"queue {number % 3}", priority=number % 2)
    assert len(store.claim(owner, limit)) == min(limit, 7)
    assert Task.objects.running().count() == min(limit, 7)


def test_more_queues_have_tasks_than_a_recursion_takes_by_itself(store: Store):
    # A thousand steps, on MySQL and MariaDB.
    for state, key in (("ready", None), ("blocked", "k")):
        Task.objects.bulk_create(
            [
                Task(state=state, limit_key=key, queue_name=f"q{number}", task_path=PATH, args_kwargs={})
                for number in range(1010)
            ]
        )
    assert len(store.look().heads) == len(store.limited_queues()) == len(Census(store, 1).waiting()) == 1010


@pytest.mark.parametrize("state", ["scheduled", "running", "blocked", "successful", "failed", "cancelled"])
def test_only_ready_tasks_are_claimed(store: Store, owner: Owner, state: str):
    put(state, run_after=ago(days=1))
    assert store.claim(owner, 10) == []


def test_a_scheduled_task_is_not_claimed_before_it_is_promoted(store: Store, owner: Owner):
    pk = put("scheduled", run_after=NOW)
    assert store.claim(owner, 1, now=later(hours=1)) == []
    store.promote(now=NOW)
    assert claim_one(store, owner).id == pk


# -- what it writes


def test_the_claim_changes_these_columns_and_no_other(store: Store, owner: Owner):
    pk = enqueue(store).id
    before = row(pk)
    store.claim(owner, 1, now=NOW)
    assert changed(before, row(pk)) == {
        "state": "running",
        "attempt": 1,
        "claim_no": 1,
        "worker_id": owner.id,
        "worker_ids": "first\n",
        "started_at": NOW,
        "last_attempted_at": NOW,
    }


def test_what_is_returned_is_what_is_stored(store: Store, owner: Owner):
    pk = enqueue(store, queue_name="mail", priority=3, max_attempts=4, metadata='{"a":1}').id
    task = claim_one(store, owner)
    stored = row(pk)
    assert (task.args_kwargs, task.task_path, task.metadata) == (EMPTY_CALL, PATH, '{"a":1}')
    for column in task._fields:
        if column not in ("args_kwargs", "metadata"):
            assert getattr(task, column) == stored[column], column


def test_what_is_returned_is_what_is_stored_when_the_time_is_given(store: Store, owner: Owner):
    pk = enqueue(store).id
    task = claim_one(store, owner, now=NOW)
    assert (task.started_at, task.last_attempted_at) == (NOW, NOW)
    assert (row(pk)["started_at"], row(pk)["last_attempted_at"]) == (NOW, NOW)


def test_the_time_of_a_claim_is_the_database_s(store: Store, owner: Owner):
    enqueue(store)
    before = store.now()
    task = claim_one(store, owner)
    assert before <= task.last_attempted_at <= store.now()


def test_a_second_claim_counts_on_and_keeps_the_first_start(store: Store, owner: Owner, other: Owner):
    pk = enqueue(store).id
    first = claim_one(store, owner, now=ago(hours=1))
    store.ack([(first, outcome(Kind.RETRIED))])
    before = row(pk)
    second = claim_one(store, other, now=NOW)
    assert changed(before, row(pk)) == {
        "state": "running",
        "attempt": 2,
        "claim_no": 2,
        "worker_id": other.id,
        "worker_ids": "first\nsecond\n",
        "last_attempted_at": NOW,
    }
    assert (second.attempt, second.claim_no, second.started_at) == (2, 2, ago(hours=1))


def test_the_claim_number_outgrows_the_attempts_when_tries_are_not_charged(store: Store, owner: Owner):
    pk = enqueue(store).id
    for number in range(1, 4):
        task = claim_one(store, owner)
        assert (task.attempt, task.claim_no) == (1, number)
        store.release([task])
    assert row(pk)["attempt"] == 0


@pytest.mark.parametrize("name", ["one\ntwo", "one\u2028two", "one\x1ctwo", "one\rtwo", " ", "", "名字 🙂", "x" * 300])
def test_a_worker_of_any_name_is_one_worker_id(store: Store, name: str):
    worker = store.register_worker(name, lease=30)
    enqueue(store, max_attempts=3)
    first = claim_one(store, Owner(worker.pk, worker.name))
    store.ack([(first, outcome(Kind.RETRIED))])
    second = claim_one(store, Owner(worker.pk, worker.name))
    task = Task.objects.get()
    assert task.worker_names == [worker.name] * 2
    assert second.worker_name == worker.name
    store.release([second])
    task.refresh_from_db()
    assert task.worker_names == [worker.name]


# -- queues


def test_only_the_asked_queues_are_served(store: Store, owner: Owner):
    for name in ("mail", "video", "default"):
        put(queue_name=name)
    claimed = store.claim(owner, 10, queues=["mail", "default", "no such queue"])
    assert {task.queue_name for task in claimed} == {"mail", "default"}


def test_an_excluded_queue_is_not_served(store: Store, owner: Owner):
    for name in ("mail", "video", "default"):
        put(queue_name=name)
    assert {task.queue_name for task in store.claim(owner, 10, exclude_queues=["video"])} == {"mail", "default"}


def test_a_queue_that_is_asked_for_and_excluded_is_not_served(store: Store, owner: Owner):
    put(queue_name="mail")
    assert store.claim(owner, 10, queues=["mail"], exclude_queues=["mail"]) == []


def test_a_paused_queue_is_not_served_even_when_asked_for(store: Store, owner: Owner):
    put(queue_name="mail")
    put(queue_name="default")
    store.pause("mail")
    assert store.claim(owner, 10, queues=["mail"]) == []
    assert [task.queue_name for task in store.claim(owner, 10)] == ["default"]


@pytest.mark.parametrize("name", ["Größe", "a'b", 'a"b', "%s", "a%b", "队列", "x" * 128, " spaced "])
def test_a_queue_of_any_name_is_served(store: Store, owner: Owner, name: str):
    enqueue(store, queue_name=name)
    assert [task.queue_name for task in store.claim(owner, 10, queues=[name])] == [name]


def test_queue_names_that_differ_only_in_case_are_two_queues(store: Store, owner: Owner):
    for name in ("mail", "Mail", "MAIL"):
        put(queue_name=name)
    assert sorted(name for name, *_ in store.look().heads) == ["MAIL", "Mail", "mail"]
    assert [task.queue_name for task in store.claim(owner, 10, queues=["mail"])] == ["mail"]


def test_a_look_names_each_queue_with_its_first_task(store: Store):
    put(queue_name="a", priority=1, run_after=later(seconds=1))
    put(queue_name="a", priority=1, run_after=NOW)
    put(queue_name="a", priority=0, run_after=ago(days=1))
    put(queue_name="b", priority=-5, run_after=ago(days=2))
    put("scheduled", queue_name="c")
    assert store.look().heads == [("a", 1, NOW), ("b", -5, ago(days=2))]


# -- price


def test_a_claim_from_one_queue_is_two_statements(store: Store, owner: Owner):
    enqueue(store)
    with CaptureQueriesContext(connection) as queries:
        store.claim(owner, 10)
    assert len([query for query in queries if "SAVEPOINT" not in query["sql"]]) <= 3  # MySQL: SELECT, then UPDATE


@pytest.mark.parametrize("queues", [2, 5])
def test_a_claim_that_comes_back_short_asks_each_queue_once_or_twice(store: Store, owner: Owner, queues: int):
    for number in range(queues):
        put(queue_name=f"queue {number}", run_after=NOW + timedelta(seconds=number))
    with CaptureQueriesContext(connection) as queries:
        assert len(store.claim(owner, 10 * queues)) == queues
    assert len([query for query in queries if "SAVEPOINT" not in query["sql"]]) <= 1 + 3 * queues


def test_an_idle_claim_is_one_statement(store: Store, owner: Owner):
    with CaptureQueriesContext(connection) as queries:
        store.claim(owner, 10)
    assert len(queries) == 1


# -- behind a low-water mark


def test_a_claim_behind_a_mark_gives_what_follows_it_at_its_priority(store: Store, owner: Owner):
    early, same, late = ago(hours=2), ago(hours=1), NOW
    before = [put(run_after=early), put(run_after=same)]
    mark = Mark(0, same, before[-1])
    behind = [put(run_after=same), put(run_after=late)]
    put(priority=1, run_after=late)
    put(priority=-1, run_after=late)
    put(queue_name="another", run_after=late)
    assert [task.id for task in store.claim_from("default", owner, 10, after=mark)] == behind


def test_a_claim_behind_a_mark_leaves_a_paused_queue_alone(store: Store, owner: Owner):
    put(run_after=NOW)
    store.pause("default")
    assert store.claim_from("default", owner, 10, after=Mark(0, ago(hours=1), 0)) == []
