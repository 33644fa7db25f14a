"""What a person does to workflows and their tasks, and what pruning leaves of them."""

from datetime import timedelta
from typing import Any

import pytest

from django_locqueue.models import State, Task, TaskAttempt, Workflow
from django_locqueue.policies.outcome import Kind
from django_locqueue.policies.terms import Terms
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.flows import counts, end_all, flow, ids_of, start, states
from tests.store.rows import claim_one, outcome, row

# -- requeue


def test_a_failed_task_that_is_put_back_lets_its_workflow_go_on(store: Store, owner: Owner):
    workflow = start(store, 2, 1)
    end_all(store, owner, Kind.FAILED, limit=1)
    end_all(store, owner)
    failed = ids_of(workflow, 0)[0]
    assert store.requeue([failed]) == [failed]
    assert (states(workflow), counts(workflow)) == (["ready successful", "blocked"], (1, 0, 0))
    assert (flow(workflow).state, flow(workflow).finished_at, flow(workflow).remaining) == ("running", None, 1)
    end_all(store, owner)
    end_all(store, owner)
    assert (flow(workflow).state, counts(workflow)) == ("successful", (3, 0, 0))


def test_a_failed_task_may_be_put_back_while_its_group_goes_on(store: Store, owner: Owner):
    workflow = start(store, 2, 1)
    end_all(store, owner, Kind.FAILED, limit=1)
    store.requeue(ids_of(workflow, 0)[:1])
    assert (flow(workflow).remaining, counts(workflow)) == (2, (0, 0, 0))
    end_all(store, owner)
    assert states(workflow) == ["successful successful", "ready"]


def test_a_task_of_a_step_that_is_over_is_not_put_back_while_a_later_one_runs(store: Store, owner: Owner):
    workflow = start(store, 1, 1, on_failure=[1])
    end_all(store, owner, Kind.FAILED)
    assert store.requeue(ids_of(workflow, 0)) == []
    assert states(workflow) == ["failed", "ready"]


def test_a_step_that_has_run_on_failure_is_not_run_again(store: Store, owner: Owner):
    workflow = start(store, 1, 1, 1, on_failure=[1])
    end_all(store, owner, Kind.FAILED)
    end_all(store, owner)
    assert states(workflow) == ["failed", "successful", "cancelled"]
    store.requeue(ids_of(workflow, 0))
    assert states(workflow) == ["ready", "successful", "blocked"]
    end_all(store, owner)
    assert states(workflow) == ["successful", "successful", "ready"]
    end_all(store, owner)
    assert (flow(workflow).state, counts(workflow)) == ("successful", (3, 0, 0))


def test_a_task_that_has_succeeded_may_run_again_and_its_workflow_ends_anew(store: Store, owner: Owner):
    workflow = start(store, 1, 1)
    end_all(store, owner)
    end_all(store, owner)
    assert store.requeue(ids_of(workflow, 0), states=(State.SUCCESSFUL,)) == ids_of(workflow, 0)
    assert (states(workflow), flow(workflow).state) == (["ready", "successful"], "running")
    end_all(store, owner)
    assert (states(workflow), flow(workflow).state, counts(workflow)) == (
        ["successful", "successful"],
        "successful",
        (2, 0, 0),
    )


def test_tasks_of_several_steps_that_are_put_back_go_on_in_their_order(store: Store, owner: Owner):
    workflow = start(store, 1, 1, 1)
    end_all(store, owner, Kind.FAILED)
    ids = ids_of(workflow, 0) + ids_of(workflow, 1)
    assert sorted(store.requeue(ids)) == ids
    assert states(workflow) == ["ready", "blocked", "blocked"]


def test_a_cancelled_task_of_a_later_step_is_put_back_behind_the_present_one(store: Store, owner: Owner):
    workflow = start(store, 1, 1)
    store.cancel(ids_of(workflow, 1))
    store.requeue(ids_of(workflow, 1))
    assert (states(workflow), flow(workflow).remaining, counts(workflow)) == (["ready", "blocked"], 1, (0, 0, 0))


@pytest.mark.parametrize("way", ["failed before it", "cancelled alone", "cancelled with all"])
def test_a_limited_task_that_never_had_its_turn_is_put_back_under_its_limit(store: Store, owner: Owner, way: str):
    limited: Any = {"turn": "blocked", "extra": (("limit_key", "c:shop"), ("terms", Terms(concurrency=1).dump()))}
    workflow = start(store, 1, 2, steps={"is_limited": True}, **limited)
    Task.objects.filter(pk__in=ids_of(workflow, 0)).update(state="ready")  # who claims under limits is another matter
    second = ids_of(workflow, 1)[0]
    if way == "cancelled with all":
        store.cancel_workflow(workflow)
    elif way == "cancelled alone":
        store.cancel([second])
    if way != "cancelled with all":
        end_all(store, owner, Kind.FAILED if way == "failed before it" else Kind.SUCCESSFUL)
    store.requeue([second])
    assert (row(second)["state"], row(second)["limit_key"]) == ("blocked", "c:shop")


# -- the whole


def test_cancelling_a_workflow_ends_what_waits_at_once(store: Store, owner: Owner):
    workflow = start(store, 2, 1)
    task = claim_one(store, owner)
    cancelled, asked = store.cancel_workflow(workflow, "no longer wanted")
    assert (cancelled, asked) == (ids_of(workflow, 0)[1:] + ids_of(workflow, 1), [task.id])
    assert (states(workflow), flow(workflow).state) == (["running cancelled", "cancelled"], "running")
    assert row(task.id)["cancel_requested"] is True
    assert row(cancelled[0])["error_message"] == "no longer wanted"
    store.ack([(task, outcome(Kind.SUCCESSFUL))])
    assert (flow(workflow).state, counts(workflow)) == ("cancelled", (1, 0, 2))


def test_the_tasks_of_a_cancelled_workflow_say_who_asked_for_it(store: Store, owner: Owner):
    workflow = start(store, 2)
    task = claim_one(store, owner)
    [waiting], _ = store.cancel_workflow(workflow, "wrong list", by="ann")
    assert (row(waiting)["error_message"], row(task.id)["cancel_reason"]) == ("by ann: wrong list",) * 2


def test_a_workflow_of_which_nothing_runs_is_cancelled_at_once(store: Store):
    workflow = start(store, 1, 1)
    store.cancel_workflow(workflow)
    assert (flow(workflow).state, flow(workflow).finished_at is None) == ("cancelled", False)


def test_a_workflow_that_has_ended_is_not_cancelled(store: Store, owner: Owner):
    workflow = start(store, 1)
    end_all(store, owner)
    assert store.cancel_workflow(workflow) == store.cancel_workflow(-1) == ([], [])
    assert flow(workflow).state == "successful"


def test_tasks_are_not_pruned_before_their_workflow_has_ended(store: Store, owner: Owner):
    workflow = start(store, 1, 1)
    end_all(store, owner)
    later = store.now() + timedelta(days=10)
    assert store.prune({"successful": 7}, now=later) == 0
    end_all(store, owner)
    assert store.prune({"successful": 7}, now=later + timedelta(days=10)) == 2
    assert states(workflow) == ["–", "–"]


def test_an_ended_workflow_is_pruned_with_its_tasks(store: Store, owner: Owner):
    workflow, young = start(store, 1, 1), start(store, 1)
    failed = claim_one(store, owner)
    store.ack([(failed, outcome(Kind.FAILED))])
    later = store.now() + timedelta(days=31)
    assert store.prune_workflows({"successful": 1, "failed": 30, "cancelled": None}, now=later) == 3
    assert list(Workflow.objects.values_list("pk", flat=True)) == [young]
    assert not Task.objects.filter(workflow_id=workflow).exists()
    assert not TaskAttempt.objects.exists()


def test_a_large_workflow_is_pruned_in_small_transactions(store: Store, owner: Owner):
    workflow = start(store, 5)
    store.cancel_workflow(workflow)
    later = store.now() + timedelta(days=2)
    assert [store.prune_workflows({"cancelled": 1}, limit=3, now=later) for _ in range(3)] == [3, 3, 0]
