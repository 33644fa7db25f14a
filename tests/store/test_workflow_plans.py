"""What a workflow asks of the task table is found by its own index or by primary key, whatever the planner believes."""

from collections.abc import Callable
from typing import Any

import pytest

from django_locqueue.models import Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.flows import ids_of, start
from tests.store.plans import plans
from tests.store.rows import NOW, outcome, put_many
from tests.store.test_plans import SCANS, cheap_enough, filled, store  # noqa: F401 - fixtures

pytestmark = pytest.mark.django_db

OTHERS = ("task_ready", "task_scheduled", "task_running", "task_finished", "task_retried", "task_limited")


@pytest.fixture
def workflow(store: Store) -> int:  # noqa: F811
    """Return a workflow beside others, and beside many tasks that have ended."""
    for _ in range(5):
        start(store, 20, 100, 20)
    return start(store, 20, 100, 20)


def by_workflow(verb: Callable[[], Any]) -> bool:
    """Whether each statement about tasks walks the primary key or the index of workflows."""
    seen = False
    for plan in plans(verb):
        sql, _, steps = plan.partition("\n")
        if "locqueue_task " not in sql and '"locqueue_task"' not in sql:
            continue
        seen = True
        for costly in (*SCANS, *OTHERS):
            assert costly not in f"{steps}\n", plan
    return seen


def test_a_step_gets_its_turn_by_the_index(store: Store, workflow: int):  # noqa: F811
    put_many(1000, "blocked", limit_key="c:1")
    [row] = store._locked_workflows([workflow]).values()
    assert by_workflow(lambda: store._begin_step([row], 1, None, is_limited=False))
    assert Task.objects.filter(workflow_id=workflow, step=1, state="ready").count() == 100


def test_steps_are_skipped_by_the_index(store: Store, workflow: int):  # noqa: F811
    [row] = store._locked_workflows([workflow]).values()
    assert by_workflow(lambda: store._skip_steps(row, range(1, 3), None))
    assert Task.objects.filter(workflow_id=workflow, state="cancelled").count() == 120


def test_the_end_of_tasks_of_a_workflow_walks_the_primary_key(store: Store, workflow: int):  # noqa: F811
    worker = store.register_worker("w", lease=60, now=NOW)
    Task.objects.filter(state="ready", workflow_id=None).delete()
    tasks = store.claim(Owner(worker.pk, "w"), 60)
    assert by_workflow(lambda: store.ack([(task, outcome(Kind.SUCCESSFUL)) for task in tasks]))


def test_a_workflow_is_cancelled_by_the_index(store: Store, workflow: int):  # noqa: F811
    assert by_workflow(lambda: store.cancel_workflow(workflow))


def test_results_are_read_by_the_index(store: Store, workflow: int):  # noqa: F811
    Task.objects.filter(workflow_id=workflow).update(state="successful", return_value=1)
    assert by_workflow(lambda: list(store.step_results(workflow, 1)))


@pytest.mark.parametrize("verb", ["requeue", "cancel", "delete"])
def test_what_a_person_does_to_its_tasks_walks_the_primary_key(store: Store, workflow: int, verb: str):  # noqa: F811
    ids = ids_of(workflow, 0)[:5]
    if verb == "requeue":
        store.cancel(ids)
    assert by_workflow(lambda: getattr(store, verb)(ids))


def test_pruning_beside_workflows_reads_the_finished_index(store: Store, workflow: int):  # noqa: F811
    seen = [
        plan
        for plan in plans(lambda: store.prune({"successful": 15}, limit=100, now=NOW))
        if plan.startswith("SELECT") and "finished_at" in plan.partition("\n")[0]
    ]
    assert seen
    assert all(cheap_enough(plan, "locqueue_task_finished") for plan in seen)


def test_an_ended_workflow_is_pruned_by_the_index(store: Store, workflow: int):  # noqa: F811
    store.cancel_workflow(workflow, now=NOW)
    assert by_workflow(lambda: store.prune_workflows({"cancelled": 0}))
    assert not Task.objects.filter(workflow_id=workflow).exists()
