"""Whoever meets at a workflow waits for the other: no step is begun twice or never, and nobody sees a deadlock."""

import random

import pytest

from django_locqueue.models import Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.flows import counts, flow, ids_of, start, states
from tests.store.races import isolated, race
from tests.store.rows import outcome

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 5


@pytest.fixture(params=["default", "repeatable read"])
def around(request: pytest.FixtureRequest, db: None):
    """Return what wraps a verb so that its connection has the isolation level of this test."""
    if request.param == "default":
        return lambda function: function
    request.getfixturevalue("needs_row_locks")
    return isolated


def ending(store: Store, tasks, kind: Kind = Kind.SUCCESSFUL):
    tasks = random.sample(tasks, len(tasks))
    return lambda: store.ack([(task, outcome(kind)) for task in tasks])


def test_the_last_two_tasks_of_a_step_end_at_once(store: Store, owner: Owner, around):
    for _ in range(ROUNDS):
        workflow = start(store, 2, 1)
        one, two = store.claim(owner, 2)
        race(around(ending(store, [one])), around(ending(store, [two])))
        assert states(workflow)[1] == "ready"
        assert (flow(workflow).step, flow(workflow).remaining, counts(workflow)) == (1, 1, (2, 0, 0))
        Task.objects.all().delete()


def test_batches_with_tasks_of_the_same_workflows_in_another_order(store: Store, owner: Owner, around):
    for _ in range(ROUNDS):
        workflows = [start(store, 2, 1) for _ in range(6)]
        tasks = store.claim(owner, 12)
        race(around(ending(store, tasks[::2])), around(ending(store, tasks[1::2])))
        assert {states(workflow)[1] for workflow in workflows} == {"ready"}
        Task.objects.all().delete()


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_a_later_step_is_taken_out_while_its_turn_comes(store: Store, owner: Owner, around, verb: str):
    for _ in range(ROUNDS):
        workflow = start(store, 1, 3, 1)
        tasks = store.claim(owner, 1)
        later = random.sample(ids_of(workflow, 1), 3)
        race(around(ending(store, tasks)), around(lambda: getattr(store, verb)(later)))  # noqa: B023
        # Whoever was first, nothing waits any more.
        assert (states(workflow)[2], flow(workflow).state, counts(workflow)) == ("cancelled", "failed", (1, 0, 4))
        Task.objects.all().delete()


def test_a_workflow_is_cancelled_while_a_step_ends(store: Store, owner: Owner, around):
    for _ in range(ROUNDS):
        workflow = start(store, 2, 2, 1)
        tasks = store.claim(owner, 2)
        race(around(ending(store, tasks)), around(lambda: store.cancel_workflow(workflow)))  # noqa: B023
        assert states(workflow) == ["successful successful", "cancelled cancelled", "cancelled"]
        assert (flow(workflow).state, counts(workflow)) == ("cancelled", (2, 0, 3))
        Task.objects.all().delete()


def test_a_failed_task_is_put_back_while_the_last_of_its_group_ends(store: Store, owner: Owner, around):
    for _ in range(ROUNDS):
        workflow = start(store, 2, 1)
        one, two = store.claim(owner, 2)
        ending(store, [one], Kind.FAILED)()
        race(around(ending(store, [two])), around(lambda: store.requeue([one.id])))  # noqa: B023
        assert states(workflow) == ["ready successful", "blocked"]
        assert (flow(workflow).state, flow(workflow).remaining, counts(workflow)) == ("running", 1, (1, 0, 0))
        Task.objects.all().delete()


def test_the_tasks_of_a_dead_worker_are_rescued_while_it_acks(store: Store, owner: Owner, around):
    for _ in range(ROUNDS):
        workflow = start(store, 4, 1)
        dead = store.register_worker("dead", lease=60)
        tasks = store.claim(Owner(dead.pk, dead.name), 4)
        store.stop_worker(dead.pk)
        race(around(ending(store, tasks)), around(lambda: store.rescue(max_crashes=1)))
        store.rescue(max_crashes=1)  # a sweep passes over what another holds; the next takes it
        begun = states(workflow)[1] == "ready"
        assert (flow(workflow).remaining, sum(counts(workflow))) == ((1, 4) if begun else (0, 5))
        Task.objects.all().delete()
