"""The steps of workflows: what each end of a task counts down, and what begins when a step is over.

Whoever ends tasks of workflows, or puts them back, first locks the rows of the workflows, in the order of their ids,
and then those of the tasks. So two that meet wait for each other and never in a ring; and of the last two tasks of a
step, however close they end, the second sees the count that the first has left.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db import models, transaction
from django.db.models import Case, F, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Concat, Greatest

from django_locqueue import signals
from django_locqueue.exceptions import StepSkipped
from django_locqueue.models import WAITING, State, TaskAttempt, Workflow
from django_locqueue.models.task import TaskQuerySet
from django_locqueue.policies.outcome import class_path
from django_locqueue.policies.stored_step import StoredStep
from django_locqueue.policies.terms import FORGET, LIMITED
from django_locqueue.store.base import StoreBase, unlocked

SKIPPED = {
    "error_class": class_path(StepSkipped),
    "error_message": "A task in a step before it did not succeed.",
}
_COUNTED = ("state", "step", "remaining", "broken", "successful", "failed", "cancelled", "cancel_requested")


class Member(NamedTuple):
    """Where a task stands in its workflow. Neither ever changes."""

    workflow_id: int
    step: int


class End(NamedTuple):
    """A task of a workflow that has just ended. ``step``: None: the present one, as of all that run."""

    workflow_id: int
    state: State
    step: int | None = None


class Stepping(StoreBase):
    @property
    def workflows(self) -> Any:
        return Workflow.objects.using(self.alias)

    def _members(self, ids: Sequence[int]) -> dict[int, Member]:
        """Return those of the tasks that are part of workflows. Not locked."""
        # Not asked for by SQL: the index of such tasks looks free to a planner that last saw none.
        rows = self.tasks.filter(pk__in=ids).values_list("pk", "workflow_id", "step")
        return {pk: Member(workflow, step) for pk, workflow, step in rows if workflow is not None}

    def _locked_workflows(self, ids: Iterable[int | None], *, skip_locked: bool = False) -> dict[int, Workflow]:
        """Lock workflows until the transaction ends, before any of their tasks. One whose row is gone is left out."""
        wanted = {pk for pk in ids if pk is not None}
        if not wanted:
            return {}
        rows = self.workflows.filter(pk__in=wanted).order_by("pk").defer("plan")
        return {row.pk: row for row in rows.select_for_update(skip_locked=skip_locked)}

    def _locked_workflows_of(self, ids: Sequence[int]) -> tuple[dict[int, Member], dict[int, Workflow]]:
        """Lock the workflows of tasks, as :meth:`_locked_workflows`; return where these tasks stand, and the rows."""
        members = self._members(ids)
        return members, self._locked_workflows(member.workflow_id for member in members.values())

    def _existing_workflows(self, ids: Collection[int]) -> set[int]:
        return set(self.workflows.filter(pk__in=ids).values_list("pk", flat=True)) if ids else set()

    def _count_ends(self, workflows: Mapping[int, Workflow], ends: Iterable[End], now: datetime | None) -> None:
        """Count tasks that ended in this transaction, and begin what comes after a step that is over.

        ``workflows``: locked. One statement for each of them that counts, however many of its tasks have ended.
        """
        changed: dict[int, Workflow] = {}
        for end in ends:
            workflow = workflows.get(end.workflow_id)
            if workflow is None:
                continue
            changed[workflow.pk] = workflow
            setattr(workflow, end.state.value, getattr(workflow, end.state.value) + 1)
            if end.step in (None, workflow.step):
                workflow.remaining = max(0, workflow.remaining - 1)
                workflow.broken += end.state != State.SUCCESSFUL
        for workflow in changed.values():
            if not workflow.remaining and workflow.state == Workflow.State.RUNNING:
                self._go_on(workflow, now)
            self._save_workflow(workflow)

    def _count_cancelled(
        self,
        workflows: Mapping[int, Workflow],
        members: Mapping[int, Member],
        ids: Iterable[int],
        now: datetime | None,
    ) -> None:
        """Count tasks that were cancelled or deleted while they waited."""
        ends = [End(members[pk].workflow_id, State.CANCELLED, members[pk].step) for pk in ids if pk in members]
        self._count_ends(workflows, ends, now)

    def _save_workflow(self, workflow: Workflow) -> None:
        values = {name: getattr(workflow, name) for name in _COUNTED}
        self.workflows.filter(pk=workflow.pk).update(**values, finished_at=workflow.finished_at)

    def _go_on(self, workflow: Workflow, now: datetime | None) -> None:
        """Begin the next step that may run; with none left the workflow has ended."""
        steps = workflow.stored_steps
        number = workflow.step + 1
        while number < len(steps) and not workflow.remaining and not workflow.cancel_requested:
            if workflow.broken:
                may_run = (each for each in range(number, len(steps)) if steps[each].runs_on_failure)
                following = next(may_run, len(steps))
                self._skip_steps(workflow, range(number, following), now)
                number = following
            if number < len(steps):
                self._begin_step(workflow, number, steps[number], now)
                number += 1
        if not workflow.remaining:
            self._finish_workflow(workflow, steps, now)

    def _begin_step(self, workflow: Workflow, number: int, step: StoredStep, now: datetime | None) -> None:
        """Give the tasks of a step their turn. They stand in their queues as if they had been enqueued now."""
        time = self.time(now)
        key = KeyTextTransform("limit_key", Cast("terms", models.JSONField())) if step.is_limited else Value(None)
        state = Case(
            When(run_after__gt=time, then=Value(State.SCHEDULED)),
            *([When(terms__contains=LIMITED, then=Value(State.BLOCKED))] if step.is_limited else ()),
            default=Value(State.READY),
        )
        waiting = self._of_steps(workflow, range(number, number + 1), State.BLOCKED)
        begun = waiting.update(state=state, limit_key=key, run_after=Greatest(F("run_after"), time))
        workflow.step, workflow.remaining = number, begun
        if begun != step.size:  # some have ended before, or are gone
            workflow.broken += step.size - begun - self._successes(workflow, range(number, number + 1))
        if begun:
            self._tell_turn()

    def _skip_steps(self, workflow: Workflow, numbers: range, now: datetime | None) -> None:
        """Cancel steps that cannot begin any more."""
        rows = self._of_steps(workflow, numbers, *WAITING)
        if not numbers or not (ids := list(rows.values_list("pk", flat=True))):
            return
        workflow.cancelled += rows.update(state=State.CANCELLED, finished_at=self.time(now), **unlocked(), **SKIPPED)
        tell = partial(signals.tasks_skipped.send, type(self), store=self, ids=ids)
        transaction.on_commit(tell, using=self.alias, robust=True)

    def _finish_workflow(self, workflow: Workflow, steps: Sequence[StoredStep], now: datetime | None) -> None:
        workflow.finished_at = self.time(now)
        if not (workflow.broken or workflow.failed or workflow.cancelled):
            workflow.state = Workflow.State.SUCCESSFUL
            if any(step.forgets for step in steps):
                self._forget_members(workflow)
        elif workflow.cancel_requested:
            workflow.state = Workflow.State.CANCELLED
        else:
            workflow.state = Workflow.State.FAILED

    def _forget_members(self, workflow: Workflow) -> None:
        """Delete the tasks that nobody wants to keep: until now, the step after each needed their results."""
        unwanted = self.tasks.filter(workflow_id=workflow.pk, terms__contains=FORGET)
        tried = unwanted.filter(attempt__gt=1).values("pk")
        TaskAttempt.objects.using(self.alias).filter(task_id__in=tried)._raw_delete(self.alias)
        unwanted._raw_delete(self.alias)

    def _of_steps(self, workflow: Workflow, numbers: range, *states: str) -> TaskQuerySet:
        rows = self.tasks.filter(workflow_id=workflow.pk, step__gte=numbers.start, step__lt=numbers.stop)
        return rows.alias(any_state=Concat("state", Value(""))).filter(any_state__in=states)  # as `by_key`

    def _successes(self, workflow: Workflow, numbers: range) -> int:
        return self._of_steps(workflow, numbers, State.SUCCESSFUL).count()

    def _reopen(
        self, workflows: Mapping[int, Workflow], members: Mapping[int, Member], before: Mapping[int, str]
    ) -> None:
        """Count tasks that a person has just put back, and let their workflows go on from there.

        ``members``: where they stand; ``before``: the states they were in. All of them wait now: those behind the
        earliest wait for their turn again, and so do the steps that had been cancelled for its failure.
        """
        by_workflow: dict[int, list[int]] = {}
        for pk, member in members.items():
            by_workflow.setdefault(member.workflow_id, []).append(pk)
        for workflow_id, ids in by_workflow.items():
            workflow = workflows.get(workflow_id)
            if workflow is None:
                continue
            for pk in ids:
                setattr(workflow, before[pk], getattr(workflow, before[pk]) - 1)
            steps = {pk: members[pk].step for pk in ids}
            unsuccessful = {pk for pk in ids if before[pk] != State.SUCCESSFUL}
            if workflow.state != Workflow.State.RUNNING:
                self._go_back(workflow, steps, unsuccessful)
            else:
                present = {pk for pk, step in steps.items() if step == workflow.step}
                workflow.remaining += len(present)
                workflow.broken -= len(present & unsuccessful)
            if later := [pk for pk, step in steps.items() if step > workflow.step]:
                self.by_key(later, *WAITING).update(state=State.BLOCKED, limit_key=None)
            self._save_workflow(workflow)

    def _go_back(self, workflow: Workflow, put_back: Mapping[int, int], unsuccessful: Collection[int]) -> None:
        """Let an ended workflow go on from the earliest step of which tasks were put back (by id, their steps)."""
        first = min(put_back.values())
        present = {pk for pk, step in put_back.items() if step == first}
        if first == workflow.step:
            workflow.broken -= len(present.intersection(unsuccessful))
        else:
            sizes = sum(step.size for step in workflow.stored_steps[: first + 1])
            workflow.broken = sizes - len(present) - self._successes(workflow, range(first + 1))
        workflow.state, workflow.finished_at, workflow.cancel_requested = Workflow.State.RUNNING, None, False
        workflow.step, workflow.remaining = first, len(present)
        skipped = self._of_steps(workflow, range(first + 1, workflow.steps), State.CANCELLED)
        workflow.cancelled -= skipped.filter(error_class=SKIPPED["error_class"]).update(
            state=State.BLOCKED, limit_key=None, finished_at=None, error_class="", error_message=""
        )

    def _tell_turn(self) -> None:
        """Tasks became ready whose queues are not at hand. A database that can tell workers does."""
