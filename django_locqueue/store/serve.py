"""What a worker does to its tasks: claim, ack, release. Every outcome write is fenced by the claim number."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import QuerySet, TextField, Value
from django.db.models.functions import Concat

from django_locqueue.models import State, Task, TaskAttempt
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from django_locqueue.store.base import StoreBase, repeated
from django_locqueue.store.values import Claimed

CLAIMED_COLUMNS = ", ".join(Claimed._fields)
TABLE = Task._meta.db_table

_FIRST = "ORDER BY queue_name, priority DESC, run_after, id LIMIT 1"

# Walks from one queue name to the next through the ready index (a skip scan): its cost is the number of queues that
# have ready tasks, not the number of tasks. ORDER BY … LIMIT 1 and not MIN(): with the statistics of an empty table
# PostgreSQL reads the whole index for a MIN.
_READY_QUEUES = f"""
WITH RECURSIVE queue (name) AS (
  SELECT (SELECT queue_name FROM {TABLE} WHERE state = 'ready' {_FIRST})
  UNION ALL
  SELECT (SELECT queue_name FROM {TABLE} WHERE state = 'ready' AND queue_name > queue.name {_FIRST})
  FROM queue WHERE queue.name IS NOT NULL
)
SELECT name,
  (SELECT priority FROM {TABLE} WHERE state = 'ready' AND queue_name = name {_FIRST}),
  (SELECT run_after FROM {TABLE} WHERE state = 'ready' AND queue_name = name {_FIRST})
FROM queue
WHERE name IS NOT NULL AND name NOT IN (SELECT name FROM locqueue_queue WHERE paused_at IS NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Owner:
    """Who claims: the worker row's id and the name that goes into ``worker_ids``."""

    id: int
    name: str


class Head(NamedTuple):
    """The first ready task of a queue."""

    queue_name: str
    priority: int
    run_after: datetime


class Serving(StoreBase):
    def claim(
        self,
        owner: Owner,
        limit: int,
        *,
        queues: Collection[str] = (),
        exclude_queues: Collection[str] = (),
        now: datetime | None = None,
    ) -> list[Claimed]:
        """Give up to ``limit`` ready tasks to the owner, in the order of service. No queues: all that are not paused.

        A claim reads one queue through its index and never sorts. Between queues the higher priority goes first,
        then the one whose first task has waited longest.
        """
        waiting = [
            head
            for head in self.ready_queues()
            if (not queues or head.queue_name in queues) and head.queue_name not in exclude_queues
        ]
        claimed: list[Claimed] = []
        while waiting and len(claimed) < limit:
            first, *rest = sorted(waiting, key=lambda head: (-head.priority, head.run_after))
            floor = rest[0].priority if rest else None
            claimed += self.claim_from(first.queue_name, owner, limit - len(claimed), floor, now)
            if floor is not None and len(claimed) < limit:
                # All that is left in this queue is below the next queue's first. Asked, not counted down: two queues
                # with a task each would cost a statement for every number between them and the lowest priority.
                rest += self._heads_below(first.queue_name, floor)
            waiting = rest
        return claimed

    def _heads_below(self, queue_name: str, priority: int) -> list[Head]:
        """Return the first ready task of a queue below a priority: one head, or none."""
        rows = self.fetch(
            f"SELECT priority, run_after FROM {TABLE} WHERE state = 'ready' AND queue_name = %s AND priority < %s "
            f"ORDER BY queue_name, priority DESC, run_after, id LIMIT 1",
            [queue_name, priority],
        )
        return [Head(queue_name, priority, self.load_time(run_after)) for priority, run_after in rows]

    def held(self, worker_id: int) -> list[Claimed]:
        """Return what is running for a worker, as the database knows it."""
        columns = f"SELECT {CLAIMED_COLUMNS} FROM {TABLE} WHERE state = 'running' AND worker_id = %s"
        return self._claimed(self.fetch(columns, [worker_id]))

    def ready_queues(self) -> list[Head]:
        """Return the head of each queue that has ready tasks and is not paused."""
        # A row may vanish between the sub-selects of one statement on some databases; it is not ready then.
        return [
            Head(name, priority, self.load_time(run_after))
            for name, priority, run_after in self.fetch(_READY_QUEUES, ())
            if priority is not None and run_after is not None
        ]

    @repeated
    def claim_from(
        self, queue_name: str, owner: Owner, limit: int, floor: int | None = None, now: datetime | None = None
    ) -> list[Claimed]:
        """Claim up to ``limit`` tasks of one queue, of at least priority ``floor``."""
        raise NotImplementedError

    def _picked_sql(self, queue_name: str, limit: int, floor: int | None) -> tuple[str, list[Any]]:
        """The head of one queue, if it is not paused. Its ORDER BY repeats the index, so that no planner sorts."""
        at_least = "" if floor is None else "AND priority >= %s "
        sql = (
            f"FROM {TABLE} WHERE state = 'ready' AND queue_name = %s {at_least}"
            f"AND NOT EXISTS (SELECT 1 FROM locqueue_queue WHERE name = %s AND paused_at IS NOT NULL) "
            f"ORDER BY queue_name, priority DESC, run_after, id LIMIT %s"
        )
        return sql, [queue_name, *([] if floor is None else [floor]), queue_name, limit]

    def _claimed(self, rows: Sequence[Sequence[Any]]) -> list[Claimed]:
        times = len(Claimed._fields) - 4  # the four columns of times are the last
        tasks = [Claimed(*row[:times], *map(self.load_time, row[times:])) for row in rows]
        return sorted(tasks, key=lambda task: task.order)

    # -- outcomes

    @repeated
    def ack(self, ended: Sequence[tuple[Claimed, Outcome]], *, now: datetime | None = None) -> set[int]:
        """Record how claimed tasks ended, in one transaction. Return the ids whose write was accepted.

        The rest were no longer the worker's: rescued, requeued or deleted meanwhile. Nothing changed for them.
        """
        # Rows are locked in the order of their ids, as everywhere: two batches that meet wait instead of deadlocking.
        ended = sorted(ended, key=lambda each: each[0].id)
        kept = [(task, outcome) for task, outcome in ended if outcome.kind is Kind.SUCCESSFUL and outcome.keep_row]
        with self.transaction():
            accepted = self._ack_successful(kept, now) if kept else set()
            if len(kept) < len(ended):
                accepted.update(task.id for task, outcome in ended if self._record(task, outcome, now))
            return accepted

    def release(self, tasks: Sequence[Claimed], *, delay: float = 0, now: datetime | None = None) -> set[int]:
        """Give claimed tasks back unrun, no attempt charged; nobody claims them for ``delay`` seconds."""
        return self.ack([(task, Outcome(Kind.RELEASED, delay=delay)) for task in tasks], now=now)

    def _ack_successful(self, ended: Sequence[tuple[Claimed, Outcome]], now: datetime | None) -> set[int]:
        """The smallest step of the hot path; a vendor that can writes the batch in one statement."""
        return {
            task.id
            for task, outcome in ended
            if self._fenced(task).update(
                state=State.SUCCESSFUL,
                finished_at=self.time(now),
                return_value=Value(outcome.return_value, TextField()),  # JSON text already
                worker=None,
            )
        }

    def _record(self, task: Claimed, outcome: Outcome, now: datetime | None) -> bool:
        fenced = self._fenced(task)
        time = self.time(now)
        match outcome.kind:
            case Kind.SUCCESSFUL:
                if outcome.keep_row:
                    return False  # recorded with its batch
                return self._forget(task, fenced)
            case Kind.FAILED | Kind.CANCELLED:
                accepted = fenced.update(
                    state=outcome.kind.value, finished_at=time, worker=None, **_last_error(outcome.error)
                )
            case Kind.RETRIED:
                accepted = self._put_back(fenced, outcome.delay, time, **_last_error(outcome.error))
            case Kind.SNOOZED | Kind.RELEASED:
                accepted = self._put_back(fenced, outcome.delay, time, **_untried(task))
        if accepted and outcome.error is not None:
            TaskAttempt.objects.using(self.alias).create(
                task_id=task.id,
                number=task.attempt,
                outcome=_ATTEMPT_OUTCOMES[outcome.kind],
                worker_name=task.worker_name,
                started_at=task.last_attempted_at,
                finished_at=time,
                error_class=outcome.error.class_path,
                error_message=outcome.error.message,
                traceback=outcome.error.traceback,
            )
        return bool(accepted)

    def _fenced(self, task: Claimed) -> QuerySet[Task]:
        # `state || ''` as in the batch of PostgreSQL: to a planner that last saw nothing running, the index of running
        # rows looks free, and each outcome would read all of it.
        rows = self.tasks.filter(pk=task.id, claim_no=task.claim_no)
        return rows.alias(any_state=Concat("state", Value(""))).filter(any_state=State.RUNNING)

    def _put_back(self, fenced: QuerySet[Task], delay: float, time: Any, **changes: Any) -> int:
        """Back to waiting. A task that was asked to stop meanwhile ends here instead."""
        if delay > 0:
            waiting = {"state": State.SCHEDULED, "run_after": time + timedelta(seconds=delay)}
        else:
            waiting = {"state": State.READY}
        return fenced.filter(cancel_requested=False).update(worker=None, **waiting, **changes) or fenced.update(
            state=State.CANCELLED, finished_at=time, worker=None, **changes
        )

    def _forget(self, task: Claimed, fenced: QuerySet[Task]) -> bool:
        """Delete a row whose result nobody wants, and what its earlier tries left."""
        if not fenced._raw_delete(self.alias):
            return False
        if task.attempt > 1:
            TaskAttempt.objects.using(self.alias).filter(task_id=task.id).delete()
        return True


_ATTEMPT_OUTCOMES = {
    Kind.FAILED: TaskAttempt.Outcome.FAILED,
    Kind.RETRIED: TaskAttempt.Outcome.FAILED,
    Kind.CANCELLED: TaskAttempt.Outcome.CANCELLED,
}


def _last_error(error: ErrorReport | None) -> dict[str, Any]:
    return {} if error is None else {"error_class": error.class_path, "error_message": error.message}


def _untried(task: Claimed) -> dict[str, Any]:
    """The columns of the row as they were before the claim, except the claim number, which only grows."""
    before = "".join(f"{name}\n" for name in task.worker_names[:-1])
    changes: dict[str, Any] = {"attempt": task.attempt - 1, "worker_ids": before}
    return changes if task.attempt > 1 else {**changes, "started_at": None, "last_attempted_at": None}
