"""Unique tasks that wait under limits."""

import pytest

from django_locqueue.models import State, Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.store.serve import Owner
from tests import unique_tasks
from tests.running import our_backend, row
from tests.store.rows import outcome

pytestmark = pytest.mark.django_db


def test_under_a_limit_of_one_what_takes_a_key_over_waits_for_the_end():
    store = our_backend().store
    worker = store.register_worker("w", lease=60)
    owner = Owner(worker.pk, worker.name)
    first = unique_tasks.sync_one_at_a_time.enqueue(1, [1])
    [running] = store.claim_limited(owner, 5).tasks
    second = unique_tasks.sync_one_at_a_time.enqueue(1, [2])
    assert unique_tasks.sync_one_at_a_time.enqueue(1, [3]).id == second.id
    assert (running.id, store.claim_limited(owner, 5).tasks) == (int(first.id), [])
    store.ack([(running, outcome(Kind.SUCCESSFUL))])
    [follower] = store.claim_limited(owner, 5).tasks
    assert (follower.id, row(second).args_kwargs["args"]) == (int(second.id), [1, [2, 3]])


def test_a_limited_task_waits_once_and_runs_as_often_as_its_limit_allows():
    store = our_backend().store
    worker = store.register_worker("w", lease=60)
    first = unique_tasks.ship_two_at_once.enqueue(1)
    assert unique_tasks.ship_two_at_once.enqueue(1).is_duplicate
    assert row(first).state == State.BLOCKED
    store.claim_limited(Owner(worker.pk, worker.name), 5)
    assert not unique_tasks.ship_two_at_once.enqueue(1).is_duplicate


@pytest.mark.parametrize("state", ["blocked", "scheduled"])
def test_what_replaces_a_call_waits_under_its_own_limit(state):
    other = unique_tasks.ship_from.enqueue(1, 20)
    replaced = unique_tasks.ship_from.enqueue(2, 10)
    Task.objects.filter(pk=int(replaced.id)).update(state=state)
    unique_tasks.ship_from.enqueue(2, 20)
    assert (row(replaced).limit_key, row(replaced).state) == (row(other).limit_key, state)


@pytest.mark.parametrize(
    ("limit_key", "terms", "state"), [("c:old", '{"concurrency":1}', "blocked"), (None, None, "ready")]
)
def test_what_replaces_a_call_has_the_limits_of_its_own_definition(limit_key, terms, state):
    old, limited = unique_tasks.render.enqueue("home"), unique_tasks.ship_from.enqueue(1, 10)
    ids = [int(old.id), int(limited.id)]
    Task.objects.filter(pk__in=ids).update(limit_key=limit_key, terms=terms, state=state)
    unique_tasks.render.enqueue("home")
    unique_tasks.ship_from.enqueue(1, 10)
    assert (row(old).limit_key, row(old).terms, row(old).state) == (None, None, "ready")
    assert (row(limited).limit_key is None, row(limited).terms, row(limited).state) == (
        False,
        '{"concurrency":1}',
        "blocked",
    )
