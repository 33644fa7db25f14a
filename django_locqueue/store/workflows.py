"""Workflows as a whole: stored at once, cancelled at once, and pruned with their tasks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django_locqueue.exceptions import ResultsGone, TaskFailed
from django_locqueue.models import FINISHED, WAITING, State, Workflow
from django_locqueue.models.workflow import StoredStep
from django_locqueue.policies.terms import load_terms
from django_locqueue.store.base import any_state, cancelled, repeated
from django_locqueue.store.control import Controlling, reason_given
from django_locqueue.store.enqueue import Enqueuing
from django_locqueue.store.recover import BATCH
from django_locqueue.store.steps import End
from django_locqueue.store.values import Call, Enqueued

READ = 1000  # results that are read at once
MOST_PRUNED = 100  # workflows of one transaction


class Workflows(Enqueuing, Controlling):
    @repeated
    def enqueue_workflow(
        self, name: str, backend_alias: str, steps: Sequence[tuple[StoredStep, Sequence[Call]]]
    ) -> tuple[Workflow, list[Enqueued]]:
        """Store a workflow with all its tasks, in the caller's transaction if there is one.

        The tasks of the first step get their turn; the others are blocked until the step before has ended.
        """
        stored_steps = [step for step, _ in steps]
        plan: Any = stored_steps
        with self.transaction():
            workflow = Workflow(
                name=name,
                backend_alias=backend_alias,
                plan=plan,
                steps=len(steps),
                remaining=stored_steps[0].size,
                tasks_total=sum(step.size for step in stored_steps),
                enqueued_at=self.time(None),
            )
            workflow.save(using=self.alias, force_insert=True)
            placed = [(number, call) for number, (_, calls) in enumerate(steps) for call in calls]
            columns = sorted({column for _, call in placed for column, _ in call.extra} | {"limit_key", "terms"})
            stored = self.enqueue_many([_at_step(call, workflow.pk, number, columns) for number, call in placed])
            delayed = [
                each.id
                for (number, _), each in zip(placed, stored, strict=True)
                if number and each.state == State.SCHEDULED
            ]
            if delayed:  # their time may come before their turn, which then looks at it again
                self.by_key(delayed, State.SCHEDULED).update(state=State.BLOCKED)
            workflow.enqueued_at = stored[0].enqueued_at
            return workflow, stored

    @repeated
    def cancel_workflow(
        self, workflow_id: int, reason: str = "", *, by: str = "", now: datetime | None = None
    ) -> tuple[list[int], list[int]]:
        """Cancel the waiting tasks of a workflow at once, ask the running ones to stop, and begin no further step.

        Return the ids of both; none if the workflow has ended. Sends no signal: ``endings.cancel_workflow`` does.
        """
        reason = reason_given(reason, by)
        with self.transaction():
            workflows = self._locked_workflows([workflow_id])
            workflow = workflows.get(workflow_id)
            if workflow is None or workflow.state != Workflow.State.RUNNING:
                return [], []
            workflow.cancel_requested = True
            rows = self.tasks.filter(workflow_id=workflow_id).alias(any_state=any_state())
            unfinished = rows.filter(any_state__in=(*WAITING, State.RUNNING)).order_by("step", "id")
            found = list(unfinished.select_for_update().values_list("pk", "state", "step"))
            rows.filter(any_state__in=WAITING).update(**cancelled(reason, self.time(now)))
            rows.filter(any_state=State.RUNNING).update(cancel_requested=True, cancel_reason=reason)
            waited = [(pk, step) for pk, state, step in found if state != State.RUNNING]
            self._count_ends(workflows, [End(workflow_id, State.CANCELLED, step) for _, step in waited], now)
            if not waited:
                self._save_workflows([workflow])
            return [pk for pk, _ in waited], [pk for pk, state, _ in found if state == State.RUNNING]

    @repeated
    def prune_workflows(
        self, retention: Mapping[str, float | None], *, limit: int = BATCH, now: datetime | None = None
    ) -> int:
        """Delete ended workflows older than ``retention`` days of their state, with what is left of their tasks.

        ``limit``: rows of tasks, and so the length of the transaction. Return how many rows were deleted.
        """
        deleted = 0
        for state, days in retention.items():
            if days is None:
                continue
            old = self.workflows.filter(state=state, finished_at__lte=self.time(now) - timedelta(days=days))
            old = old.order_by("finished_at", "id").values_list("pk", flat=True)
            if not old[:1]:
                continue
            with self.transaction():
                for workflow_id in list(old.select_for_update(skip_locked=True)[:MOST_PRUNED]):
                    ids = list(self.tasks.filter(workflow_id=workflow_id).values_list("pk", flat=True)[:limit])
                    deleted += self._delete(ids)
                    if len(ids) < limit:
                        deleted += self.workflows.filter(pk=workflow_id)._raw_delete(self.alias)
                    if deleted >= limit:
                        break
        return deleted

    def results_before(self, task_id: int) -> Iterator[Any]:
        """Return the results of the step before a task's own, as below. Raises ValueError if there is none."""
        row = self.tasks.filter(pk=task_id).values_list("workflow_id", "step").first()
        if row is None or row[0] is None or not row[1]:
            raise ValueError(f"#{task_id} comes after no other step of a workflow, so there are no results to read.")
        yield from self.step_results(row[0], row[1] - 1)

    def step_results(self, workflow_id: int, step: int) -> Iterator[Any]:
        """Return what came of each task of a step, in their order, read as one goes on.

        That is its return value, or a ``TaskFailed`` if it did not succeed. Raises ValueError at one that has not
        ended, and ``ResultsGone`` at the end if rows are missing.
        """
        rows = self.tasks.filter(workflow_id=workflow_id, step=step).order_by("step", "id")
        columns = ("pk", "state", "return_value", "error_class", "error_message")
        found = last = 0
        while some := list(rows.filter(pk__gt=last).values_list(*columns)[:READ]):
            for pk, state, value, error_class, message in some:
                if state not in FINISHED:
                    raise ValueError(f"#{pk} has not ended yet: wait for its workflow.")
                yield value if state == State.SUCCESSFUL else TaskFailed(pk, error_class, message)
            found, last = found + len(some), some[-1][0]
        workflow = self.workflows.filter(pk=workflow_id).first()
        size = 0 if workflow is None else workflow.stored_steps[step].size
        if found < size or workflow is None:
            raise ResultsGone(
                f"Of the {size} results of step {step + 1} of workflow #{workflow_id} {size - found} are gone: "
                f"their tasks were deleted or pruned."
            )


def _at_step(call: Call, workflow_id: int, step: int, columns: Sequence[str]) -> Call:
    """Return the call with its place. Behind the first step its limit stays in its terms until its turn comes."""
    extra = dict(call.extra)
    if step and extra.get("limit_key") is not None:
        extra["terms"] = replace(load_terms(extra.get("terms")), limit_key=extra["limit_key"]).dump()
        extra["limit_key"] = None
    placed = (("workflow_id", workflow_id), ("step", step), *((name, extra.get(name)) for name in columns))
    return call._replace(turn=State.BLOCKED if step else call.turn, extra=placed)
