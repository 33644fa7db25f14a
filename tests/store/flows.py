"""Workflows for the store's tests."""

from collections.abc import Sequence
from typing import Any

from django_locqueue.models import Task, Workflow
from django_locqueue.models.workflow import StoredStep
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Claimed, Store
from django_locqueue.store.serve import Owner
from tests.store.rows import call, outcome


def start(
    store: Store, *sizes: int, on_failure: Sequence[int] = (), steps: dict[str, Any] | None = None, **changes: Any
) -> int:
    """Store a workflow whose steps have these many tasks, and return its id.

    ``on_failure``: steps that run on failure; ``steps``: parts of each ``StoredStep``; the rest: of each call.
    """
    made = [
        (
            StoredStep(f"step{number}", size, runs_on_failure=number in on_failure, **(steps or {})),
            [call(**changes) for _ in range(size)],
        )
        for number, size in enumerate(sizes)
    ]
    workflow, _ = store.enqueue_workflow("flow", "default", made)
    return int(workflow.pk)


def flow(pk: int) -> Workflow:
    workflow: Workflow = Workflow.objects.get(pk=pk)
    return workflow


def counts(pk: int) -> tuple[int, int, int]:
    """Return how many tasks succeeded, failed and were cancelled."""
    workflow = flow(pk)
    return (workflow.successful, workflow.failed, workflow.cancelled)


def states(pk: int) -> list[str]:
    """Return the states of the tasks, step by step: ``["successful", "ready ready", "blocked"]``."""
    found: dict[int, list[str]] = {}
    for step, state in Task.objects.filter(workflow_id=pk).order_by("step", "id").values_list("step", "state"):
        found.setdefault(step, []).append(state)
    return [" ".join(found.get(step, ["–"])) for step in range(flow(pk).steps)]


def ids_of(pk: int, step: int) -> list[int]:
    return list(Task.objects.filter(workflow_id=pk, step=step).order_by("id").values_list("pk", flat=True))


def end_all(
    store: Store, owner: Owner, kind: Kind = Kind.SUCCESSFUL, limit: int = 1000, **options: Any
) -> list[Claimed]:
    """Claim what is ready, end it in one batch, and return it."""
    claimed = store.claim(owner, limit)
    store.ack([(task, outcome(kind, **options)) for task in claimed])
    return claimed
