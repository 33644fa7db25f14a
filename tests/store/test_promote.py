"""Promote: what is due becomes ready, never early, by the database's clock."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from django_locqueue.models import Task
from django_locqueue.store import Store
from tests.store.rows import NOW, ago, changed, enqueue, later, put, put_many, row, state


def test_a_due_task_becomes_ready_and_nothing_else_changes(store: Store):
    pk = put("scheduled", run_after=ago(seconds=1))
    before = row(pk)
    assert store.promote(now=NOW) == 1
    assert changed(before, row(pk)) == {"state": "ready"}


def test_a_task_is_due_at_its_very_time_and_not_a_microsecond_before(store: Store):
    pk = put("scheduled", run_after=NOW)
    assert store.promote(now=ago(microseconds=1)) == 0
    assert state(pk) == "scheduled"
    assert store.promote(now=NOW) == 1


@pytest.mark.parametrize("microsecond", [0, 1, 999_999])
def test_times_compare_properly_whatever_their_microseconds(store: Store, microsecond: int):
    due = NOW.replace(microsecond=microsecond)
    put("scheduled", run_after=due)
    assert store.promote(now=due - timedelta(microseconds=1)) == 0
    assert store.promote(now=due) == 1


def test_the_given_time_may_be_in_any_zone(store: Store):
    put("scheduled", run_after=NOW)
    assert store.promote(now=ago(seconds=1).astimezone(timezone(timedelta(hours=8)))) == 0
    assert store.promote(now=NOW.astimezone(timezone(timedelta(hours=-5)))) == 1


def test_due_is_judged_by_the_database_s_clock(store: Store):
    past = put("scheduled", run_after=store.now() - timedelta(milliseconds=1))
    future = put("scheduled", run_after=store.now() + timedelta(hours=1))
    assert store.promote() == 1
    assert (state(past), state(future)) == ("ready", "scheduled")


@pytest.mark.parametrize("kept", ["ready", "running", "blocked", "successful", "failed", "cancelled"])
def test_only_scheduled_tasks_are_promoted(store: Store, kept: str):
    pk = put(kept, run_after=ago(days=1))
    assert store.promote(now=NOW) == 0
    assert state(pk) == kept


def test_no_more_than_the_limit_are_promoted_the_longest_due_first(store: Store):
    pks = [put("scheduled", run_after=ago(seconds=seconds)) for seconds in (1, 3, 2)]
    assert store.promote(limit=2, now=NOW) == 2
    assert [state(pk) for pk in pks] == ["scheduled", "ready", "ready"]


def test_batch_by_batch_everything_due_is_promoted(store: Store):
    put_many(1100, "scheduled", run_after=ago(days=1))
    assert [store.promote(now=NOW) for _ in range(4)] == [500, 500, 100, 0]
    assert Task.objects.ready().count() == 1100


# -- when to come again


def test_next_due_is_none_when_nothing_is_scheduled(store: Store):
    put("ready")
    assert store.next_due() is None


def test_next_due_is_the_seconds_to_the_first(store: Store):
    put("scheduled", run_after=later(seconds=90))
    put("scheduled", run_after=later(seconds=2.5))
    assert store.next_due(now=NOW) == 2.5


def test_next_due_is_not_positive_for_what_is_overdue(store: Store):
    put("scheduled", run_after=ago(seconds=4))
    assert store.next_due(now=NOW) == -4


def test_next_due_without_a_given_time_asks_the_database(store: Store):
    enqueue(store, run_after=datetime.now(UTC) + timedelta(hours=1))
    assert 3500 < (store.next_due() or 0) <= 3601
