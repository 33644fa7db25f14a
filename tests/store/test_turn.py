"""Where a limited task goes when its time has come; and when a task gives its unique lock up."""

import pytest

from django_locqueue.models import Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.rows import NOW, ago, claim_one, outcome, put, row

LIMITED = {"limit_key": "c:shop-1"}


def test_promotion_sends_a_limited_task_to_wait_for_its_turn(store: Store):
    limited, plain = put("scheduled", run_after=ago(hours=1), **LIMITED), put("scheduled", run_after=ago(hours=1))
    assert store.promote(now=NOW) == 2
    assert (row(limited)["state"], row(plain)["state"]) == ("blocked", "ready")


def test_run_now_sends_a_limited_task_to_wait_for_its_turn(store: Store):
    limited = put("scheduled", **LIMITED)
    assert store.run_now([limited]) == [limited]
    assert row(limited)["state"] == "blocked"


def test_requeue_sends_a_limited_task_to_wait_for_its_turn(store: Store):
    limited = put("failed", **LIMITED)
    assert store.requeue([limited]) == [limited]
    assert row(limited)["state"] == "blocked"


def test_rescue_sends_a_limited_task_to_wait_for_its_turn(store: Store):
    limited = put("running", worker_id=999, claim_no=1, attempt=1, **LIMITED)
    [rescued] = store.rescue(max_crashes=3)
    assert (rescued.id, rescued.state) == (limited, "blocked") == (limited, row(limited)["state"])


def test_a_release_sends_a_limited_task_to_wait_for_its_turn(store: Store, owner: Owner):
    put()
    task = claim_one(store, owner)
    Task.objects.filter(pk=task.id).update(**LIMITED)
    assert store.release([task._replace(limit_key="c:shop-1")]) == {task.key: "blocked"}
    assert row(task.id)["state"] == "blocked"


@pytest.mark.parametrize(("until", "held"), [("started", None), ("finished", "k"), ("window", "k")])
def test_a_claim_ends_a_lock_that_is_held_until_the_start(store: Store, owner: Owner, until: str, held: str | None):
    task_id = put(unique_key="k", unique_lock="k", unique_until=until)
    claim_one(store, owner)
    assert row(task_id)["unique_lock"] == held


@pytest.mark.parametrize("kind", [Kind.SUCCESSFUL, Kind.FAILED, Kind.CANCELLED])
@pytest.mark.parametrize(("until", "held"), [("finished", None), ("window", "k")])
def test_an_end_gives_up_every_lock_but_a_window(store: Store, owner: Owner, kind: Kind, until: str, held: str | None):
    task_id = put(unique_key="k", unique_lock="k", unique_until=until)
    store.ack([(claim_one(store, owner), outcome(kind))])
    assert (row(task_id)["unique_lock"], row(task_id)["unique_key"]) == (held, "k")


@pytest.mark.parametrize("kind", [Kind.RETRIED, Kind.SNOOZED, Kind.RELEASED])
def test_a_task_that_is_put_back_keeps_the_lock_that_it_holds(store: Store, owner: Owner, kind: Kind):
    task_id = put(unique_key="k", unique_lock="k", unique_until="finished")
    store.ack([(claim_one(store, owner), outcome(kind))])
    assert row(task_id)["unique_lock"] == "k"


@pytest.mark.parametrize(("until", "held"), [("started", None), ("finished", None), ("window", "k")])
def test_cancelling_a_waiting_task_gives_up_every_lock_but_a_window(store: Store, until: str, held: str | None):
    task_id = put(unique_key="k", unique_lock="k", unique_until=until)
    store.cancel([task_id])
    assert row(task_id)["unique_lock"] == held


def test_a_task_that_died_too_often_gives_its_lock_up(store: Store):
    task_id = put(
        "running", worker_id=999, claim_no=1, attempt=1, unique_key="k", unique_lock="k", unique_until="finished"
    )
    store.rescue(max_crashes=1)
    assert (row(task_id)["state"], row(task_id)["unique_lock"]) == ("failed", None)
