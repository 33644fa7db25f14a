"""Ack: what each outcome writes, and that only the claim's owner may write it."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_locqueue.models import Task, TaskAttempt
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.store import Claimed, Store
from django_locqueue.store.serve import Owner
from tests.store.rows import ERROR, NOW, ago, attempts, changed, claim_one, enqueue, later, outcome, row, running, state

KINDS = list(Kind)


def ack(store: Store, task: Claimed, kind: Kind, **options: Any) -> dict[str, Any]:
    """Record an outcome and return the columns that it changed."""
    before = row(task.id)
    assert store.ack([(task, outcome(kind, **options))], now=NOW).keys() == {task.key}
    return changed(before, row(task.id))


ENDED = {"finished_at": NOW, "worker_id": None}
WITH_ERROR = {"error_class": "builtins.ValueError", "error_message": "no such order"}
OF_ITS_KIND = {**WITH_ERROR, "error_group_id": ERROR.kind.fingerprint}
UNCHARGED = {"attempt": 0, "worker_ids": "", "worker_id": None, "started_at": None, "last_attempted_at": None}


def test_successful_keeps_times_attempts_and_worker_ids(store: Store, owner: Owner):
    task = running(store, owner)
    assert ack(store, task, Kind.SUCCESSFUL, return_value='{"a":[1]}') == {
        "state": "successful",
        "return_value": {"a": [1]},
        **ENDED,
    }


def test_a_task_that_returns_nothing_is_successful_too(store: Store, owner: Owner):
    assert ack(store, running(store, owner), Kind.SUCCESSFUL, return_value="null") == {"state": "successful", **ENDED}
    assert ack(store, running(store, owner), Kind.SUCCESSFUL, return_value=None) == {"state": "successful", **ENDED}


@pytest.mark.parametrize(("kind", "error"), [(Kind.FAILED, OF_ITS_KIND), (Kind.CANCELLED, WITH_ERROR)])
def test_failed_and_cancelled_end_with_the_error(store: Store, owner: Owner, kind: Kind, error: dict[str, str]):
    assert ack(store, running(store, owner), kind) == {"state": kind.value, **ENDED, **error}


def test_retried_waits_for_its_delay_and_keeps_the_attempt(store: Store, owner: Owner):
    assert ack(store, running(store, owner), Kind.RETRIED, delay=90.5) == {
        "state": "scheduled",
        "run_after": later(seconds=90.5),
        "worker_id": None,
        **OF_ITS_KIND,
    }


def test_retried_without_delay_is_ready_at_once(store: Store, owner: Owner):
    assert ack(store, running(store, owner), Kind.RETRIED) == {"state": "ready", "worker_id": None, **OF_ITS_KIND}


@pytest.mark.parametrize("kind", [Kind.SNOOZED, Kind.RELEASED])
def test_snoozed_and_released_wait_and_are_not_charged(store: Store, owner: Owner, kind: Kind):
    assert ack(store, running(store, owner), kind, delay=60) == {
        "state": "scheduled",
        "run_after": later(minutes=1),
        **UNCHARGED,
    }


@pytest.mark.parametrize("kind", [Kind.SNOOZED, Kind.RELEASED])
def test_snoozed_and_released_without_delay_are_ready_at_once(store: Store, owner: Owner, kind: Kind):
    assert ack(store, running(store, owner), kind) == {"state": "ready", **UNCHARGED}


@pytest.mark.parametrize("kind", [Kind.SNOOZED, Kind.RELEASED])
def test_an_uncharged_second_try_leaves_what_the_first_left(store: Store, owner: Owner, other: Owner, kind: Kind):
    first = running(store, owner, max_attempts=3)
    ack(store, first, Kind.RETRIED)
    second = claim_one(store, other, now=NOW)
    assert ack(store, second, kind) == {"state": "ready", "worker_id": None, "attempt": 1, "worker_ids": "first\n"}


@pytest.mark.parametrize("delay", [0, 30])
@pytest.mark.parametrize("kind", [Kind.RETRIED, Kind.SNOOZED, Kind.RELEASED])
def test_a_task_asked_to_stop_ends_where_it_would_wait(store: Store, owner: Owner, kind: Kind, delay: float):
    task = running(store, owner)
    store.cancel([task.id])
    changes = ack(store, task, kind, delay=delay)
    assert (changes["state"], changes["finished_at"], changes["worker_id"]) == ("cancelled", NOW, None)
    assert "run_after" not in changes


@pytest.mark.parametrize("kind", [Kind.SUCCESSFUL, Kind.FAILED])
def test_a_task_asked_to_stop_may_end_otherwise(store: Store, owner: Owner, kind: Kind):
    task = running(store, owner)
    store.cancel([task.id])
    assert ack(store, task, kind)["state"] == kind.value


def test_without_a_given_time_the_database_s_is_taken(store: Store, owner: Owner):
    tasks = [running(store, owner) for _ in range(3)]
    before = store.now()
    store.ack([(tasks[0], outcome(Kind.SUCCESSFUL)), (tasks[1], outcome(Kind.FAILED))])
    store.ack([(tasks[2], outcome(Kind.RETRIED, delay=100))])
    assert before <= row(tasks[0].id)["finished_at"] <= store.now()
    assert before <= row(tasks[1].id)["finished_at"] <= store.now()
    assert 99 < (row(tasks[2].id)["run_after"] - before).total_seconds() < 160


# -- rows that nobody wants to keep


def test_a_success_that_is_not_kept_deletes_the_row_and_its_attempts(store: Store, owner: Owner):
    first = running(store, owner)
    kept = running(store, owner)
    store.ack([(each, outcome(Kind.RETRIED)) for each in (first, kept)])
    again = {task.id: task for task in store.claim(owner, 2)}
    second = again[first.id]
    assert store.ack([(second, outcome(Kind.SUCCESSFUL, keep_row=False))]) == {second.key: "successful"}
    assert list(Task.objects.values_list("pk", flat=True)) == [kept.id]
    assert list(TaskAttempt.objects.values_list("task_id", flat=True)) == [kept.id]


# -- attempts


@pytest.mark.parametrize(
    ("kind", "recorded"), [(Kind.FAILED, "failed"), (Kind.RETRIED, "failed"), (Kind.CANCELLED, "cancelled")]
)
def test_what_went_wrong_leaves_an_attempt(store: Store, owner: Owner, kind: Kind, recorded: str):
    task = running(store, owner)
    ack(store, task, kind)
    (attempt,) = attempts(task.id)
    del attempt["id"]
    assert attempt == {
        "task_id": task.id,
        "number": 1,
        "outcome": recorded,
        "worker_name": "first",
        "started_at": ago(seconds=10),
        "finished_at": NOW,
        "error_class": ERROR.class_path,
        "error_message": ERROR.message,
        "traceback": ERROR.traceback,
    }


@pytest.mark.parametrize("kind", [Kind.SUCCESSFUL, Kind.SNOOZED, Kind.RELEASED])
def test_what_went_well_leaves_no_attempt(store: Store, owner: Owner, kind: Kind):
    task = running(store, owner)
    ack(store, task, kind)
    assert attempts(task.id) == []


def test_each_failed_try_leaves_its_own_attempt(store: Store, owner: Owner, other: Owner):
    task = running(store, owner)
    ack(store, task, Kind.RETRIED)
    ack(store, claim_one(store, other), Kind.FAILED)
    assert [(each["number"], each["worker_name"]) for each in attempts(task.id)] == [(1, "first"), (2, "second")]


# -- batches


def test_one_batch_may_hold_every_kind(store: Store, owner: Owner):
    tasks = {kind: running(store, owner) for kind in KINDS}
    gone = running(store, owner)
    ended = [(task, outcome(kind)) for kind, task in tasks.items()]
    ended.append((gone, outcome(Kind.SUCCESSFUL, keep_row=False)))
    assert store.ack(ended).keys() == {task.key for task, _ in ended}
    states = {kind: state(task.id) for kind, task in tasks.items()}
    assert states == {
        Kind.SUCCESSFUL: "successful",
        Kind.FAILED: "failed",
        Kind.CANCELLED: "cancelled",
        Kind.RETRIED: "ready",
        Kind.SNOOZED: "ready",
        Kind.RELEASED: "ready",
    }
    assert state(gone.id) is None


def test_an_empty_batch_changes_nothing(store: Store):
    assert store.ack([]) == {}


def test_each_of_a_batch_gets_its_own_return_value(store: Store, owner: Owner):
    tasks = [running(store, owner) for _ in range(5)]
    store.ack([(task, Outcome(Kind.SUCCESSFUL, return_value=str(task.id))) for task in reversed(tasks)])
    assert all(row(task.id)["return_value"] == task.id for task in tasks)


def test_a_batch_of_successes_is_one_statement_on_postgresql(store: Store, owner: Owner, needs_postgresql: None):
    tasks = [running(store, owner) for _ in range(20)]
    with CaptureQueriesContext(connection) as queries:
        store.ack([(task, outcome(Kind.SUCCESSFUL)) for task in tasks])
    assert len([query for query in queries if "SAVEPOINT" not in query["sql"]]) == 1


# -- the fence: a claim that was taken away writes nothing


def taken_away(store: Store, task: Claimed, how: str) -> None:
    """Let the task slip from its worker in one of the ways that this can happen."""
    if how == "released and claimed again":
        store.release([task])
        claim_one(store, Owner(9, "thief"))
    elif how == "rescued":
        store.stop_worker(row(task.id)["worker_id"])
        store.rescue(max_crashes=3, now=NOW)
    elif how == "ended":
        store.ack([(task, outcome(Kind.SUCCESSFUL))])
    elif how == "ended and requeued":
        store.ack([(task, outcome(Kind.FAILED))])
        store.requeue([task.id])
    elif how == "deleted":
        Task.objects.filter(pk=task.id).delete()


WAYS = ["released and claimed again", "rescued", "ended", "ended and requeued", "deleted"]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("kind", [*KINDS, "not kept"])
def test_a_stale_claim_is_refused_and_changes_nothing(store: Store, owner: Owner, kind: str, how: str):
    task = running(store, owner)
    taken_away(store, task, how)
    before = list(Task.objects.values()), list(TaskAttempt.objects.values())
    late = outcome(Kind.SUCCESSFUL, keep_row=False) if kind == "not kept" else outcome(Kind(kind), delay=5)
    assert store.ack([(task, late)]) == {}
    assert (list(Task.objects.values()), list(TaskAttempt.objects.values())) == before


@pytest.mark.parametrize("how", WAYS)
def test_a_refused_outcome_does_not_hold_up_its_batch(store: Store, owner: Owner, other: Owner, how: str):
    late = running(store, owner)
    tasks = [running(store, other) for _ in range(2)]
    taken_away(store, late, how)
    ended = [(tasks[0], outcome(Kind.SUCCESSFUL)), (late, outcome(Kind.SUCCESSFUL)), (tasks[1], outcome(Kind.FAILED))]
    assert store.ack(ended).keys() == {task.key for task in tasks}


def test_a_live_and_a_stale_claim_of_one_task_in_one_batch_are_told_apart(store: Store, owner: Owner):
    enqueue(store)
    stale = claim_one(store, owner)
    store.release([stale])
    live = claim_one(store, owner)
    assert set(store.ack([(live, outcome(Kind.SUCCESSFUL)), (stale, outcome(Kind.SUCCESSFUL))])) == {live.key}


def test_a_stale_release_is_refused(store: Store, owner: Owner):
    task = running(store, owner)
    taken_away(store, task, "released and claimed again")
    assert store.release([task]) == {}
    assert state(task.id) == "running"


# -- a task that somebody cancelled while it ran

BY_REQUEST = {"error_class": "django_locqueue.exceptions.Cancel", "error_message": "the order is gone"}


@pytest.mark.parametrize("kind", [Kind.RETRIED, Kind.SNOOZED, Kind.RELEASED])
def test_a_cancelled_task_ends_with_the_reason_that_was_given(store: Store, owner: Owner, kind: Kind):
    task = running(store, owner)
    store.cancel([task.id], "the order is gone")
    assert BY_REQUEST.items() <= ack(store, task, kind).items()


def test_a_task_that_stopped_as_asked_ends_with_the_reason_that_was_given(store: Store, owner: Owner):
    task = running(store, owner)
    store.cancel([task.id], "the order is gone")
    assert BY_REQUEST.items() <= ack(store, task, Kind.CANCELLED, by_request=True).items()


def test_a_task_that_cancels_itself_ends_with_its_own_reason(store: Store, owner: Owner):
    task = running(store, owner)
    store.cancel([task.id], "the order is gone")
    assert WITH_ERROR.items() <= ack(store, task, Kind.CANCELLED).items()


@pytest.mark.parametrize("kind", [Kind.RETRIED, Kind.SNOOZED, Kind.RELEASED])
def test_ack_says_that_it_cancelled_what_was_to_be_put_back(store: Store, owner: Owner, kind: Kind):
    task = running(store, owner)
    store.cancel([task.id])
    assert store.ack([(task, outcome(kind))]) == {task.key: "cancelled"}


def test_a_success_shows_no_reason_of_a_cancellation_that_came_too_late(store: Store, owner: Owner):
    task = running(store, owner)
    store.cancel([task.id], "the order is gone")
    ack(store, task, Kind.SUCCESSFUL)
    assert row(task.id)["error_class"] == ""


def test_a_task_that_is_put_back_by_a_person_forgets_why_it_was_cancelled(store: Store, owner: Owner):
    task = running(store, owner)
    store.cancel([task.id], "the order is gone")
    ack(store, task, Kind.RELEASED)
    store.requeue([task.id])
    assert (row(task.id)["cancel_requested"], row(task.id)["cancel_reason"]) == (False, "")


# -- which state was written, and for which claim


@pytest.mark.parametrize(
    ("kind", "delay", "written"),
    [
        (Kind.SUCCESSFUL, 0, "successful"),
        (Kind.FAILED, 0, "failed"),
        (Kind.CANCELLED, 0, "cancelled"),
        (Kind.RETRIED, 0, "ready"),
        (Kind.SNOOZED, 5, "scheduled"),
        (Kind.RELEASED, 0, "ready"),
    ],
)
def test_ack_says_which_state_it_wrote(store: Store, owner: Owner, kind: Kind, delay: float, written: str):
    task = running(store, owner)
    assert store.ack([(task, outcome(kind, delay=delay))]) == {task.key: written}
    assert state(task.id) == written


@pytest.mark.parametrize("kind", [Kind.SUCCESSFUL, Kind.FAILED])
def test_of_two_claims_of_one_task_only_the_live_one_is_accepted(store: Store, owner: Owner, kind: Kind):
    stale = running(store, owner)
    store.release([stale])
    live = claim_one(store, owner)
    both = [(stale, outcome(Kind.SUCCESSFUL)), (live, outcome(kind))]
    assert store.ack(both).keys() == {live.key}


@pytest.mark.parametrize("kind", [Kind.SUCCESSFUL, Kind.FAILED, Kind.CANCELLED])
def test_an_end_that_is_not_kept_leaves_neither_row_nor_attempt(store: Store, owner: Owner, kind: Kind):
    ack(store, running(store, owner), Kind.RETRIED)
    again = claim_one(store, owner, now=NOW)
    assert store.ack([(again, outcome(kind, keep_row=False))]) == {again.key: kind.value}
    assert not Task.objects.exists()
    assert not TaskAttempt.objects.exists()


@pytest.mark.parametrize("kind", [Kind.RETRIED, Kind.SNOOZED, Kind.RELEASED])
def test_what_is_put_back_is_kept_whatever_becomes_of_ends(store: Store, owner: Owner, kind: Kind):
    task = running(store, owner)
    assert store.ack([(task, outcome(kind, keep_row=False))]) == {task.key: "ready"}
    assert state(task.id) == "ready"


@pytest.mark.parametrize("kind", [Kind.RETRIED, Kind.SNOOZED, Kind.RELEASED])
def test_a_cancelled_task_that_is_not_kept_leaves_nothing_where_it_would_wait(store: Store, owner: Owner, kind: Kind):
    task = running(store, owner)
    store.cancel([task.id])
    assert store.ack([(task, outcome(kind, keep_row=False))]) == {task.key: "cancelled"}
    assert not Task.objects.exists()
    assert not TaskAttempt.objects.exists()


UNKNOWN = {"unknown_since": NOW, "error_class": "django_locqueue.exceptions.UnknownTask", "error_message": "not here"}


def test_many_that_go_back_alike_are_two_statements(store: Store, owner: Owner, django_assert_max_num_queries: Any):
    tasks = [running(store, owner) for _ in range(20)]
    with django_assert_max_num_queries(4):
        written = store.ack([(task, outcome(Kind.RELEASED, delay=10, columns=UNKNOWN)) for task in tasks], now=NOW)
    assert written == {task.key: "scheduled" for task in tasks}
    wanted = {**UNKNOWN, "attempt": 0, "worker_ids": "", "started_at": None, "worker_id": None}
    for task in tasks:
        stored = row(task.id)
        assert {name: stored[name] for name in wanted} == wanted
        assert stored["run_after"] == NOW + timedelta(seconds=10)


def test_of_those_the_cancelled_ends_and_the_lost_is_refused(store: Store, owner: Owner):
    back, cancelled, lost, tried = (running(store, owner, max_attempts=3) for _ in range(4))
    store.cancel([cancelled.id], "not needed")
    store.ack([(tried, outcome(Kind.RETRIED))])
    (tried,) = store.claim(owner, 1, queues=["own"])
    late = lost._replace(claim_no=lost.claim_no - 1)
    written = store.ack(
        [(task, outcome(Kind.RELEASED, delay=10, columns=UNKNOWN)) for task in (back, cancelled, late, tried)]
    )
    assert written == {back.key: "scheduled", cancelled.key: "cancelled", tried.key: "scheduled"}
    assert [state(task.id) for task in (back, cancelled, lost, tried)] == [
        "scheduled",
        "cancelled",
        "running",
        "scheduled",
    ]
    assert (row(tried.id)["attempt"], row(cancelled.id)["error_message"]) == (1, "not needed")
