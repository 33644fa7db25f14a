"""Prune: old finished rows go, in bounded batches; nothing else does."""

import pytest

from django_locqueue.models import Task, TaskAttempt
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.rows import NOW, ago, outcome, put, put_many, running, state

FINISHED = ["successful", "failed", "cancelled"]


@pytest.mark.parametrize("finished", FINISHED)
def test_a_row_older_than_its_retention_goes(store: Store, finished: str):
    old = put(finished, finished_at=ago(days=7))
    young = put(finished, finished_at=ago(days=7) + (NOW - ago(microseconds=1)))
    assert store.prune({finished: 7}, now=NOW) == 1
    assert (state(old), state(young)) == (None, finished)


def test_each_state_has_its_own_retention(store: Store):
    pks = {each: put(each, finished_at=ago(days=10)) for each in FINISHED}
    assert store.prune({"successful": 7, "failed": 30, "cancelled": 9}, now=NOW) == 2
    assert {each: state(pk) for each, pk in pks.items()} == {"successful": None, "failed": "failed", "cancelled": None}


def test_none_keeps_for_ever(store: Store):
    put("failed", finished_at=ago(days=9999))
    assert store.prune({"failed": None}, now=NOW) == 0
    assert store.prune({}, now=NOW) == 0


def test_zero_deletes_at_once(store: Store):
    put("failed", finished_at=NOW)
    assert store.prune({"failed": 0}, now=NOW) == 1


def test_a_part_of_a_day_is_a_retention_too(store: Store):
    put("failed", finished_at=ago(hours=13))
    put("failed", finished_at=ago(hours=11))
    assert store.prune({"failed": 0.5}, now=NOW) == 1


def test_age_is_judged_by_the_database_s_clock(store: Store, owner: Owner):
    task = running(store, owner)
    store.ack([(task, outcome(Kind.SUCCESSFUL))])
    assert store.prune({"successful": 1}) == 0
    assert store.prune({"successful": 0}) == 1


@pytest.mark.parametrize("unfinished", ["scheduled", "ready", "running", "blocked"])
def test_what_is_not_finished_stays_however_old(store: Store, unfinished: str):
    pk = put(unfinished, run_after=ago(days=999), enqueued_at=ago(days=999))
    store.prune(dict.fromkeys(FINISHED, 0), now=NOW)
    assert state(pk) == unfinished


def test_a_requeued_row_is_not_finished_any_more(store: Store):
    pk = put("failed", finished_at=ago(days=99))
    store.requeue([pk])
    assert store.prune({"failed": 1}, now=NOW) == 0


def test_no_more_than_the_limit_of_each_state_go_the_oldest_first(store: Store):
    pks = [put("failed", finished_at=ago(days=days)) for days in (8, 10, 9)]
    others = [put("successful", finished_at=ago(days=days)) for days in (8, 10)]
    assert store.prune({"failed": 7, "successful": 7}, limit=1, now=NOW) == 2
    assert [state(pk) for pk in pks] == ["failed", None, "failed"]
    assert [state(pk) for pk in others] == ["successful", None]


def test_batch_by_batch_everything_old_goes(store: Store):
    put_many(1100, "successful", finished_at=ago(days=8))
    assert [store.prune({"successful": 7}, now=NOW) for _ in range(4)] == [500, 500, 100, 0]
    assert Task.objects.count() == 0


def test_the_attempts_go_too_and_no_other_s(store: Store, owner: Owner):
    old, young = running(store, owner), running(store, owner)
    store.ack([(old, outcome(Kind.FAILED))], now=ago(days=9))
    store.ack([(young, outcome(Kind.FAILED))], now=ago(days=1))
    store.prune({"failed": 7}, now=NOW)
    assert list(TaskAttempt.objects.values_list("task_id", flat=True)) == [young.id]
