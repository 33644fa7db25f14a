"""What a person changes about tasks besides their ends: when, where and how soon they run; and what to do with those
that failed, or whose worker is silent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, Q

from django_locqueue import clock
from django_locqueue.models import WAITING, State, turn
from django_locqueue.models.task import PAYLOAD_COLUMNS
from django_locqueue.store.base import repeated
from django_locqueue.store.control import Controlling
from django_locqueue.store.recover import MOST_CRASHES, Rescued
from django_locqueue.store.steps import End


class Rearranging(Controlling):
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
        return self._change(ids, WAITING, queue_name=queue_name)

    @repeated
    def change_priority(self, ids: Sequence[int], priority: int) -> list[int]:
        """Return the ids of the waiting tasks whose priority was changed."""
        return self._change(ids, WAITING, priority=priority)

    @repeated
    def dismiss(self, ids: Sequence[int]) -> list[int]:
        """Leave failed tasks out of the lists of what failed. Return the ids that changed."""
        return self._change(ids, (State.FAILED,), {"dismissed": False}, dismissed=True)

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
            at = self.now() if now is None else clock.storable(now)
            rescued = [each for each in (self._rescue_one(task, MOST_CRASHES + 1, time, at) for task in rows) if each]
            ended = [each.id for each in rescued if each.state == State.CANCELLED and each.id in members]
            self._count_ends(workflows, [End(members[pk].workflow_id, State.CANCELLED) for pk in ended], now)
            # Those that crashed more than once wait a while where nobody asked.
            delayed = [each.id for each in rescued if each.state == State.SCHEDULED]
            self.by_key(delayed, State.SCHEDULED).update(state=turn(), run_after=time)
            return rescued
