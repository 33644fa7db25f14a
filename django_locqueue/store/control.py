"""What a person (or code) does to stored tasks. Each verb is guarded by the states it may leave: it changes those
that are still in one at that moment, and says which."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db.models import F, Value
from django.db.models.functions import Greatest, Least

from django_locqueue.exceptions import Cancel
from django_locqueue.models import FINISHED, WAITING, Queue, State, Workflow, turn
from django_locqueue.policies.outcome import MESSAGE_LENGTH, class_path, shortened
from django_locqueue.store.base import repeated, unlocked
from django_locqueue.store.recover import Recovering
from django_locqueue.store.steps import Member

MOST_COUNTED = 2**31 - 1  # what the columns of attempts hold on every database
REQUEUEABLE = (State.FAILED, State.CANCELLED)


class Controlling(Recovering):
    @repeated
    def requeue(self, ids: Sequence[int], *, now: datetime | None = None) -> list[int]:
        """Put failed or cancelled tasks back, with one more attempt. Return the ids that changed."""
        with self.transaction():
            members, workflows = self._locked_workflows_of(ids)
            if workflows:
                ids = [pk for pk in ids if pk not in members or _may_go_back(workflows, members[pk])]
            before = self._locked_states(ids, REQUEUEABLE) if workflows else {}
            put_back = self._change(
                ids,
                REQUEUEABLE,
                state=turn(),
                run_after=self.time(now),
                finished_at=None,
                crashes=0,
                max_attempts=Greatest(F("max_attempts"), Least(F("attempt"), Value(MOST_COUNTED - 1)) + 1),
                cancel_requested=False,
                cancel_reason="",
            )
            if workflows:
                self._reopen(workflows, {pk: members[pk] for pk in put_back if pk in members}, before)
            return put_back

    @repeated
    def run_now(self, ids: Sequence[int], *, now: datetime | None = None) -> list[int]:
        """Make scheduled tasks ready before their time. Return the ids that changed."""
        return self._change(ids, (State.SCHEDULED,), state=turn(), run_after=self.time(now))

    @repeated
    def cancel(
        self, ids: Sequence[int], reason: str = "", *, now: datetime | None = None
    ) -> tuple[list[int], list[int]]:
        """Cancel waiting tasks at once and ask running ones to stop. Return the ids of both.

        Sends no signal: ``endings.cancel`` does.
        """
        reason = shortened(reason, MESSAGE_LENGTH)
        with self.transaction():
            members, workflows = self._locked_workflows_of(ids)
            # One lock over both, or a task that is given back between the two steps is in neither.
            states = self._locked_states(ids, (*WAITING, State.RUNNING))
            waiting = [pk for pk, state in states.items() if state != State.RUNNING]
            running = [pk for pk, state in states.items() if state == State.RUNNING]
            if waiting:
                self.tasks.filter(pk__in=waiting).update(
                    state=State.CANCELLED,
                    finished_at=self.time(now),
                    error_class=class_path(Cancel),
                    error_message=reason,
                    **unlocked(),
                )
            if running:
                self.tasks.filter(pk__in=running).update(cancel_requested=True, cancel_reason=reason)
            self._count_cancelled(workflows, members, waiting, now)
            return waiting, running

    @repeated
    def delete(self, ids: Sequence[int]) -> list[int]:
        """Delete tasks that do not run, with their attempts. Return the ids that are gone."""
        with self.transaction():
            members, workflows = self._locked_workflows_of(ids)
            states = self._locked_states(ids, (*WAITING, *FINISHED))
            found = list(states)
            self._delete(found)
            self._count_cancelled(workflows, members, [pk for pk in found if states[pk] in WAITING], None)
            return found

    def _change(self, ids: Sequence[int], states: Sequence[State], **changes: object) -> list[int]:
        """Update the tasks that are in one of ``states``, under a lock, so that no worker takes one in between."""
        with self.transaction():
            found = list(self._locked_states(ids, states))
            if found:
                self.tasks.filter(pk__in=found).update(**changes)
            return found

    def _locked_states(self, ids: Sequence[int], states: Sequence[State]) -> dict[int, str]:
        """Lock the tasks that are in one of ``states`` until the transaction ends; return the state of each."""
        chosen = self.by_key(ids, *states).order_by("id").select_for_update()
        return dict(chosen.values_list("pk", "state"))

    # -- queues

    @repeated
    def pause(self, queue_name: str, *, by: str = "", reason: str = "", now: datetime | None = None) -> bool:
        """Stop claims from a queue; running tasks finish. False if it was paused already."""
        queues = Queue.objects.using(self.alias)
        queues.get_or_create(name=queue_name)
        return bool(
            queues.filter(name=queue_name, paused_at=None).update(
                paused_at=self.time(now), paused_by=shortened(by, 150), pause_reason=shortened(reason, 200)
            )
        )

    @repeated
    def resume(self, queue_name: str) -> bool:
        """Let claims go on. False if it was not paused."""
        paused = Queue.objects.using(self.alias).filter(name=queue_name, paused_at__isnull=False)
        return bool(paused.update(paused_at=None, paused_by="", pause_reason=""))

    @repeated
    def add_queues(self, names: Sequence[str]) -> None:
        """Make sure that the queues have rows, so that pages and pauses know them."""
        Queue.objects.using(self.alias).bulk_create([Queue(name=name) for name in names], ignore_conflicts=True)


def _may_go_back(workflows: Mapping[int, Workflow], member: Member) -> bool:
    """Whether the workflow has not begun a later step, of which it would know nothing."""
    workflow = workflows.get(member.workflow_id)
    return workflow is None or workflow.state != Workflow.State.RUNNING or member.step >= workflow.step
