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
from django.db.models import Case, Count, F, Value, When
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Greatest

from django_locqueue import signals
from django_locqueue.exceptions import StepSkipped
from django_locqueue.models import WAITING, State, TaskAttempt, Workflow
from django_locqueue.models.task import TaskQuerySet
from django_locqueue.policies.outcome import class_path
from django_locqueue.policies.terms import FORGET, LIMITED
from django_locqueue.store.base import StoreBase, any_state, cancelled

SKIPPED = "A task in a step before it did not succeed."
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
        """Count tasks that ended in this transaction, and begin what comes after the steps that are over.

        ``workflows``: locked. However many tasks have ended, the number of statements is that of the different ways in
        which their workflows go on.
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
        over = [each for each in changed.values() if not each.remaining and each.state == Workflow.State.RUNNING]
        if over:
            self._go_on(over, now)
        self._save_workflows(changed.values())

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

    def _save_workflows(self, workflows: Iterable[Workflow]) -> None:
        """Write what has changed: one statement for all that stand alike."""
        alike: dict[tuple[Any, ...], list[Workflow]] = {}
        for workflow in workflows:
            values = tuple(getattr(workflow, name) for name in _COUNTED)
            alike.setdefault((*values, workflow.finished_at), []).append(workflow)
        for values, rows in alike.items():
            changes = dict(zip((*_COUNTED, "finished_at"), values, strict=True))
            self.workflows.filter(pk__in=[row.pk for row in rows]).update(**changes)

    def _go_on(self, workflows: Sequence[Workflow], now: datetime | None) -> None:
        """Begin the next steps that may run; a workflow with none left has ended."""
        plans = dict(self.workflows.filter(pk__in=[each.pk for each in workflows]).values_list("pk", "plan"))
        for workflow in workflows:
            workflow.plan = plans[workflow.pk]
        ended = []
        while workflows:
            following: dict[tuple[int, bool], list[Workflow]] = {}
            for workflow in workflows:
                number = self._next_step(workflow, now)
                if number is None:
                    ended.append(workflow)
                else:
                    following.setdefault((number, workflow.stored_steps[number].is_limited), []).append(workflow)
            for (number, is_limited), alike in following.items():
                self._begin_step(alike, number, now, is_limited=is_limited)
            # Of a step may be left nothing: its tasks were cancelled or deleted before their turn, or have run before.
            workflows = [each for alike in following.values() for each in alike if not each.remaining]
        self._finish_workflows(ended, now)

    def _next_step(self, workflow: Workflow, now: datetime | None) -> int | None:
        """Return the number of the step that begins now, those that cannot being skipped; None: there is none."""
        steps = workflow.stored_steps
        number = workflow.step + 1
        if workflow.cancel_requested:
            return None
        if workflow.broken:
            may_run = (each for each in range(number, len(steps)) if steps[each].runs_on_failure)
            following = next(may_run, len(steps))
            self._skip_steps(workflow, range(number, following), now)
            number = following
        return number if number < len(steps) else None

    def _begin_step(
        self, workflows: Sequence[Workflow], number: int, now: datetime | None, *, is_limited: bool
    ) -> None:
        """Give the tasks of a step their turn. They stand in their queues as if they had been enqueued now."""
        time = self.time(now)
        of_step = self.tasks.filter(workflow_id__in=[each.pk for each in workflows], step=number)
        blocked = of_step.alias(any_state=any_state()).filter(any_state=State.BLOCKED)
        begun = blocked.update(**_turn_of_step(time, is_limited=is_limited), run_after=Greatest(F("run_after"), time))
        sizes = {each.pk: each.stored_steps[number].size for each in workflows}
        waiting = sizes
        if begun != sum(sizes.values()):  # some have ended before, or are gone
            found = of_step.values_list("workflow_id", "state").annotate(Count("pk")).order_by()
            counts = {(pk, state): count for pk, state, count in found}
            waiting = {pk: sum(counts.get((pk, each), 0) for each in (*WAITING, State.RUNNING)) for pk in sizes}
            for workflow in workflows:
                succeeded = counts.get((workflow.pk, State.SUCCESSFUL), 0)
                workflow.broken += sizes[workflow.pk] - waiting[workflow.pk] - succeeded
        for workflow in workflows:
            workflow.step, workflow.remaining = number, waiting[workflow.pk]
        if begun:
            self._tell_turn()

    def _skip_steps(self, workflow: Workflow, numbers: range, now: datetime | None) -> None:
        """Cancel steps that cannot begin any more."""
        rows = self._of_steps(workflow, numbers, *WAITING)
        if not numbers or not (ids := list(rows.values_list("pk", flat=True))):
            return
        workflow.cancelled += rows.update(**cancelled(SKIPPED, self.time(now), StepSkipped))
        tell = partial(signals.tasks_skipped.send, type(self), store=self, ids=ids)
        transaction.on_commit(tell, using=self.alias, robust=True)

    def _finish_workflows(self, workflows: Sequence[Workflow], now: datetime | None) -> None:
        for workflow in workflows:
            workflow.finished_at = self.time(now)
            if not (workflow.broken or workflow.failed or workflow.cancelled):
                workflow.state = Workflow.State.SUCCESSFUL
            elif workflow.cancel_requested:
                workflow.state = Workflow.State.CANCELLED
            else:
                workflow.state = Workflow.State.FAILED
        succeeded = [each for each in workflows if each.state == Workflow.State.SUCCESSFUL]
        if forgetful := [each.pk for each in succeeded if any(step.forgets for step in each.stored_steps)]:
            # Until now, the step after each needed their results.
            unwanted = self.tasks.filter(workflow_id__in=forgetful, terms__contains=FORGET)
            tried = unwanted.filter(attempt__gt=1).values("pk")
            TaskAttempt.objects.using(self.alias).filter(task_id__in=tried)._raw_delete(self.alias)
            unwanted._raw_delete(self.alias)

    def _of_steps(self, workflow: Workflow, numbers: range, *states: str) -> TaskQuerySet:
        rows = self.tasks.filter(workflow_id=workflow.pk, step__gte=numbers.start, step__lt=numbers.stop)
        return rows.alias(any_state=any_state()).filter(any_state__in=states)

    def _successes(self, workflow: Workflow, numbers: range) -> int:
        return self._of_steps(workflow, numbers, State.SUCCESSFUL).count()

    def _reopen(
        self,
        workflows: Mapping[int, Workflow],
        members: Mapping[int, Member],
        before: Mapping[int, str],
        now: datetime | None,
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
            present_ids = [pk for pk, step in steps.items() if step == workflow.step]
            if present_ids and workflow.step and workflow.stored_steps[workflow.step].is_limited:
                # One that ended before its turn has its limit in its terms only.
                self.by_key(present_ids, *WAITING).update(**_turn_of_step(self.time(now), is_limited=True))
            if later := [pk for pk, step in steps.items() if step > workflow.step]:
                self.by_key(later, *WAITING).update(state=State.BLOCKED, limit_key=None)
            self._save_workflows([workflow])

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
        workflow.cancelled -= skipped.filter(error_class=class_path(StepSkipped)).update(
            state=State.BLOCKED, limit_key=None, finished_at=None, error_class="", error_message=""
        )

    def _tell_turn(self) -> None:
        """Tasks became ready whose queues are not at hand. A database that can tell workers does."""


def _turn_of_step(time: Any, *, is_limited: bool) -> dict[str, Any]:
    """Return the changes that give the tasks of a later step their turn: their limits stand in their terms till then.

    ``is_limited``: whether any of them has one.
    """
    key = KeyTextTransform("limit_key", Cast("terms", models.JSONField())) if is_limited else Value(None)
    state = Case(
        When(run_after__gt=time, then=Value(State.SCHEDULED)),
        *([When(terms__contains=LIMITED, then=Value(State.BLOCKED))] if is_limited else ()),
        default=Value(State.READY),
    )
    return {"state": state, "limit_key": key}
