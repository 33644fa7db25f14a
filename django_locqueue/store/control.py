"""What a person (or code) does to stored tasks, and that it is written down.

Each verb is guarded by the states it may leave: it changes those that are still in one at that moment, and says which.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db import IntegrityError
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.functions import Greatest, Least

from django_locqueue import clock
from django_locqueue.models import FINISHED, WAITING, Activity, State, Workflow, turn
from django_locqueue.models.activity import REASON_LENGTH
from django_locqueue.models.task import PAYLOAD_COLUMNS
from django_locqueue.policies.outcome import MESSAGE_LENGTH, shortened
from django_locqueue.policies.unique import FINISHED as UNTIL_FINISHED
from django_locqueue.policies.unique import STARTED
from django_locqueue.store.base import cancelled, repeated
from django_locqueue.store.recover import MOST_CRASHES, Recovering, Rescued
from django_locqueue.store.steps import End, Member

MOST_COUNTED = 2**31 - 1  # what the columns of attempts hold on every database
UNSUCCESSFUL = (State.FAILED, State.CANCELLED)
LOOKS = 3  # for free locks, before a conflict is an error
_LOCKS_AGAIN = Q(unique_until__in=(STARTED, UNTIL_FINISHED))  # a window is counted from when it was enqueued


class Controlling(Recovering):
    @repeated
    def requeue(
        self,
        ids: Sequence[int],
        *,
        states: Sequence[State] = UNSUCCESSFUL,
        run_after: datetime | None = None,
        attempts: int = 1,
        by: str = "",
        now: datetime | None = None,
    ) -> list[int]:
        """Put those tasks back that ended in one of ``states``. Return the ids that changed.

        ``attempts``: how many more each has at least. ``run_after``: None: now. ``by``: the person who asks for it.
        One that was unique holds its lock again. Where another task has it, the one that was to be put back stays.
        """
        changes = {**self._waits_until(run_after, now), "max_attempts": _more_attempts(attempts)}
        if by:
            changes["retried_by"] = shortened(by, 150)
        for _ in range(LOOKS):
            with suppress(IntegrityError):  # another took such a lock between our look and our write
                return self._requeue(ids, states, changes, now)
        return self._requeue(ids, states, changes, now)

    def _waits_until(self, run_after: datetime | None, now: datetime | None) -> dict[str, Any]:
        """Return the changes of tasks that wait for a time, or for nothing but their turn."""
        if run_after is None:
            return {"state": turn(), "run_after": self.time(now)}
        run_after = clock.storable(run_after)
        is_to_come = run_after > self.moment(now)
        return {"state": State.SCHEDULED if is_to_come else turn(), "run_after": run_after}

    def _requeue(
        self, ids: Sequence[int], states: Sequence[State], changes: Mapping[str, Any], now: datetime | None
    ) -> list[int]:
        with self.transaction():
            members, workflows = self._locked_workflows_of(ids)
            if workflows:
                ids = [pk for pk in ids if pk not in members or _may_go_back(workflows, members[pk])]
            before = self._locked_states(ids, states)
            found = self._with_free_locks(list(before))
            if found:
                self.tasks.filter(pk__in=found).update(
                    **changes,
                    finished_at=None,
                    crashes=0,
                    dismissed=False,
                    cancel_requested=False,
                    cancel_reason="",
                    return_value=None,
                    progress=None,
                    progress_message="",
                    unknown_since=None,
                    unique_lock=Case(When(_LOCKS_AGAIN, then=F("unique_key")), default=F("unique_lock")),
                )
            if workflows:
                self._reopen(workflows, {pk: members[pk] for pk in found if pk in members}, before, now)
            return found

    def _with_free_locks(self, ids: list[int]) -> list[int]:
        """Leave out the tasks whose unique lock another holds by now, or one before them will."""
        locks = dict(self.tasks.filter(_LOCKS_AGAIN, pk__in=ids).values_list("pk", "unique_key"))
        held = set(self.tasks.filter(unique_lock__in=locks.values()).values_list("unique_lock", flat=True))
        free = []
        for pk in ids:
            if (lock := locks.get(pk)) not in held:
                free.append(pk)
                held |= {lock} - {None}
        return free

    @repeated
    def run_now(self, ids: Sequence[int], *, now: datetime | None = None) -> list[int]:
        """Make scheduled tasks ready before their time. Return the ids that changed."""
        return self._change(ids, (State.SCHEDULED,), {"state": turn(), "run_after": self.time(now)})

    @repeated
    def cancel(
        self,
        ids: Sequence[int],
        reason: str = "",
        *,
        by: str = "",
        only_retrying: bool = False,
        now: datetime | None = None,
    ) -> tuple[list[int], list[int]]:
        """Cancel waiting tasks at once and ask running ones to stop. Return the ids of both.

        ``only_retrying``: only those that failed before and wait for their next try. Sends no signal:
        ``endings.cancel`` does.
        """
        reason = reason_given(reason, by)
        with self.transaction():
            members, workflows = self._locked_workflows_of(ids)
            # One lock over both, or a task that is given back between the two steps is in neither.
            if only_retrying:
                states = self._locked_states(ids, (State.SCHEDULED,), attempt__gte=1)
            else:
                states = self._locked_states(ids, (*WAITING, State.RUNNING))
            waiting = [pk for pk, state in states.items() if state != State.RUNNING]
            running = [pk for pk, state in states.items() if state == State.RUNNING]
            if waiting:
                self.tasks.filter(pk__in=waiting).update(**cancelled(reason, self.time(now)))
                self._free_items_of(waiting)
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

    @repeated
    def change_time(self, ids: Sequence[int], run_after: datetime, *, now: datetime | None = None) -> list[int]:
        """Let waiting tasks run at another time, at once if it has passed. Return the ids that changed.

        Not those behind another step of their workflow, which begin when it has ended.
        """
        with self.transaction():
            found = list(self._locked_states(ids, (State.SCHEDULED, State.READY)))
            found += self._locked_states(ids, (State.BLOCKED,), limit_key__isnull=False)
            if found:
                self.tasks.filter(pk__in=found).update(**self._waits_until(run_after, now))
            return sorted(found)

    @repeated
    def move(self, ids: Sequence[int], queue_name: str) -> list[int]:
        """Let waiting tasks wait in another queue. Return the ids that changed."""
        return self._change(ids, WAITING, {"queue_name": queue_name})

    @repeated
    def change_priority(self, ids: Sequence[int], priority: int) -> list[int]:
        """Return the ids of the waiting tasks whose priority was changed."""
        return self._change(ids, WAITING, {"priority": priority})

    @repeated
    def dismiss(self, ids: Sequence[int]) -> list[int]:
        """Leave failed tasks out of the lists of what failed. Return the ids that changed."""
        return self._change(ids, (State.FAILED,), {"dismissed": True}, dismissed=False)

    @repeated
    def put_back(self, ids: Sequence[int], *, now: datetime | None = None) -> list[Rescued]:
        """Take tasks back whose workers do not answer, each charged one crash; they may run at once.

        One that was asked to stop ends here. Sends no signal: ``endings.put_back`` does.
        """
        time: Any = self.time(now)
        with self.transaction():
            members, workflows = self._locked_workflows_of(ids)
            live = self.workers.filter(Q(lease_until__gt=time), pk=OuterRef("worker"), stopped_at=None)
            lost = self.by_key(ids, State.RUNNING).filter(~Exists(live)).order_by("id")
            # Locked, then looked at again, as `rescue` does it.
            locked = list(self._locked(lost).values_list("pk", flat=True))
            rows = self._locked(lost.filter(pk__in=locked)).defer(*PAYLOAD_COLUMNS)
            at = self.moment(now)
            rescued = [each for each in (self._rescue_one(task, MOST_CRASHES + 1, time, at) for task in rows) if each]
            ended = [each.id for each in rescued if each.state == State.CANCELLED and each.id in members]
            self._count_ends(workflows, [End(members[pk].workflow_id, State.CANCELLED) for pk in ended], now)
            # Those that crashed more than once wait a while where nobody asked.
            delayed = [each.id for each in rescued if each.state == State.SCHEDULED]
            self.by_key(delayed, State.SCHEDULED).update(state=turn(), run_after=time)
            return rescued

    def record_activity(
        self,
        verb: str,
        *,
        by: str,
        source: str,
        request_id: str = "",
        target: str = "",
        selection: Mapping[str, Any] | None = None,
        matched: int | None = None,
        changed: int = 1,
        skipped: int = 0,
        reason: str = "",
    ) -> None:
        """Write that a person did something. Too long texts are cut.

        ``target``: a single object; ``selection``: a filter, or ``{"ids": [...]}``. ``source``: an IP address, or
        ``"command"``.
        """
        texts = {"verb": verb, "user_name": by, "source": source, "request_id": request_id, "target": target}
        lengths = {field.name: getattr(field, "max_length", None) or 0 for field in Activity._meta.get_fields()}
        Activity.objects.using(self.alias).create(
            **{name: shortened(text, lengths[name]) for name, text in texts.items()},
            reason=shortened(reason, REASON_LENGTH),
            selection=None if selection is None else dict(selection),
            matched=matched,
            changed=changed,
            skipped=skipped,
            time=self.time(None),
        )

    def _change(
        self, ids: Sequence[int], states: Sequence[State], changes: Mapping[str, Any], **more: Any
    ) -> list[int]:
        """Update the tasks that are in one of ``states``, under a lock, so that no worker takes one in between."""
        with self.transaction():
            found = list(self._locked_states(ids, states, **more))
            if found:
                self.tasks.filter(pk__in=found).update(**changes)
            return found

    def _locked_states(self, ids: Sequence[int], states: Sequence[State], **more: Any) -> dict[int, str]:
        """Lock the tasks that are in one of ``states`` until the transaction ends; return the state of each.

        ``more``: further conditions.
        """
        chosen = self.by_key(ids, *states).filter(**more).order_by("id").select_for_update()
        return dict(chosen.values_list("pk", "state"))


def _more_attempts(attempts: int) -> Greatest:
    """Return the most attempts of a task that gets so many more."""
    tried = Least(F("attempt"), Value(MOST_COUNTED - attempts))
    return Greatest(F("max_attempts"), tried + attempts)


def reason_given(reason: str, by: str) -> str:
    """Return what a cancelled task ends with: who asked for it, and why."""
    return shortened(": ".join(filter(None, (f"by {by}" if by else "", reason))), MESSAGE_LENGTH)


def _may_go_back(workflows: Mapping[int, Workflow], member: Member) -> bool:
    """Whether the workflow has not begun a later step, of which it would know nothing."""
    workflow = workflows.get(member.workflow_id)
    return workflow is None or workflow.state != Workflow.State.RUNNING or member.step >= workflow.step
