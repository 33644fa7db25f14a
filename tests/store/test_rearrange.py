"""What a person changes about waiting tasks, and about those that failed or lost their worker."""

from datetime import timedelta
from typing import Any

import pytest

from django_locqueue.models import State, Task, Worker, Workflow
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.rows import NOW, ago, attempts, changed, later, outcome, put, row, running, state

ALL = [each.value for each in State]
WAITING = ["scheduled", "ready"]


def one_of_each(**columns: Any) -> dict[str, int]:
    return {each: put(each, **{"attempt": 1, "worker_ids": "x\n", **columns}) for each in ALL}


def names(pks: dict[str, int], found: list[int]) -> list[str]:
    return [name for name, pk in pks.items() if pk in found]


# -- retry


def test_a_retry_at_a_time_waits_for_it_and_remembers_who_asked(store: Store):
    pk = put("failed", attempt=1, dismissed=True)
    assert store.requeue([pk], run_after=later(hours=1), by="alice", now=NOW) == [pk]
    after = row(pk)
    assert (after["state"], after["run_after"], after["retried_by"]) == ("scheduled", later(hours=1), "alice")
    assert not after["dismissed"]


def test_a_retry_at_a_time_that_has_passed_is_ready(store: Store):
    pk = put("failed", attempt=1)
    store.requeue([pk], run_after=ago(hours=1), now=NOW)
    assert state(pk) == "ready"


def test_a_retry_by_code_does_not_forget_who_retried_it_by_hand(store: Store):
    pk = put("failed", attempt=1, retried_by="alice")
    store.requeue([pk])
    assert row(pk)["retried_by"] == "alice"


def test_a_fresh_set_of_attempts_is_counted_from_those_that_were(store: Store):
    pk = put("failed", attempt=5, max_attempts=5)
    store.requeue([pk], attempts=3)
    assert row(pk)["max_attempts"] == 8


# -- change time, move, change priority


def test_only_what_waits_by_itself_gets_another_time(store: Store):
    pks = one_of_each()
    assert names(pks, store.change_time(list(pks.values()), later(hours=2), now=NOW)) == WAITING
    assert {state(pks[name]) for name in WAITING} == {"scheduled"}
    assert row(pks["ready"])["run_after"] == later(hours=2)
    assert state(pks["blocked"]) == "blocked"  # behind a step of its workflow


def test_one_under_a_limit_waits_for_the_time_and_then_for_its_turn(store: Store):
    pk = put("blocked", limit_key="shop")
    assert store.change_time([pk], later(hours=2), now=NOW) == [pk]
    assert state(pk) == "scheduled"
    assert store.change_time([pk], ago(hours=2), now=NOW) == [pk]
    assert state(pk) == "blocked"


@pytest.mark.parametrize(
    ("verb", "value", "column"), [("move", "mail", "queue_name"), ("change_priority", 7, "priority")]
)
def test_only_what_waits_is_moved_or_gets_another_priority(store: Store, verb: str, value: Any, column: str):
    pks = one_of_each()
    before = {name: row(pk) for name, pk in pks.items()}
    assert names(pks, getattr(store, verb)(list(pks.values()), value)) == [*WAITING, "blocked"]
    differences = {name: changed(before[name], row(pk)) for name, pk in pks.items()}
    expected = {name: {column: value} if name in (*WAITING, "blocked") else {} for name in pks}
    assert differences == expected


# -- dismiss, stop retrying


def test_only_failed_tasks_are_dismissed_and_once(store: Store):
    pks = one_of_each()
    assert names(pks, store.dismiss(list(pks.values()))) == ["failed"]
    assert row(pks["failed"])["dismissed"]
    assert store.dismiss(list(pks.values())) == []


def test_to_stop_retrying_leaves_those_alone_that_never_failed(store: Store):
    retrying, waiting = put("scheduled", attempt=2), put("scheduled")
    others = [put(each, attempt=2) for each in ("ready", "running", "failed")]
    assert store.cancel([retrying, waiting, *others], by="alice", only_retrying=True) == ([retrying], [])
    assert [state(pk) for pk in (retrying, waiting)] == ["cancelled", "scheduled"]


# -- put back


def lose(owner: Owner, **columns: Any) -> None:
    Worker.objects.filter(pk=owner.id).update(**{"lease_until": ago(minutes=1), **columns})


def test_what_a_live_worker_runs_is_not_put_back(store: Store, owner: Owner):
    task = running(store, owner)
    assert store.put_back([task.id], now=NOW) == []
    assert state(task.id) == "running"


@pytest.mark.parametrize("how", ["silent", "stopped", "gone"])
def test_what_a_lost_worker_had_is_ready_again_and_charged_a_crash(store: Store, owner: Owner, how: str):
    task = running(store, owner)
    if how == "gone":
        Worker.objects.all().delete()
    else:
        lose(owner, **({"lease_until": later(hours=1), "stopped_at": NOW} if how == "stopped" else {}))
    assert [each.id for each in store.put_back([task.id], now=NOW)] == [task.id]
    after = row(task.id)
    assert (after["state"], after["crashes"], after["worker_id"]) == ("ready", 1, None)
    assert [each["outcome"] for each in attempts(task.id)] == ["crashed"]


def test_one_that_crashed_often_waits_no_longer_when_a_person_puts_it_back(store: Store, owner: Owner):
    task = running(store, owner)
    lose(owner)
    Task.objects.filter(pk=task.id).update(crashes=9)
    store.put_back([task.id], now=NOW)
    assert (state(task.id), row(task.id)["crashes"], row(task.id)["run_after"]) == ("ready", 10, NOW)


def test_what_the_silent_worker_still_says_of_it_does_not_count(store: Store, owner: Owner):
    task = running(store, owner)
    lose(owner)
    store.put_back([task.id], now=NOW)
    assert store.ack([(task, outcome(Kind.SUCCESSFUL))]) == {}
    assert state(task.id) == "ready"


def test_one_that_was_asked_to_stop_ends_and_its_workflow_counts_it(store: Store, owner: Owner):
    flow = Workflow.objects.create(name="one", plan=[["one", 1]], steps=1, tasks_total=1, remaining=1)
    task = running(store, owner)
    Task.objects.filter(pk=task.id).update(cancel_requested=True, workflow=flow)
    lose(owner)
    assert [each.state for each in store.put_back([task.id], now=NOW)] == ["cancelled"]
    flow.refresh_from_db()
    assert (flow.cancelled, flow.remaining, flow.state) == (1, 0, "failed")


def test_a_lease_that_ends_later_is_judged_by_the_time_given(store: Store, owner: Owner):
    task = running(store, owner)
    assert store.put_back([task.id], now=NOW + timedelta(hours=1))
