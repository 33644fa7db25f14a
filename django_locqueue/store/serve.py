"""What a worker does to its tasks: claim, ack, release. Every outcome write is fenced by the claim number."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

from django.db.models import F, QuerySet, TextField, Value

from django_locqueue import clock
from django_locqueue.exceptions import Cancel
from django_locqueue.models import FINISHED, State, Task, TaskAttempt
from django_locqueue.policies.outcome import FAILURES, Kind, Outcome, class_path
from django_locqueue.policies.terms import UNIQUE_ITEMS
from django_locqueue.store.base import as_it_is, repeated, unlocked
from django_locqueue.store.queues import QueueKeeping
from django_locqueue.store.report import Reporting
from django_locqueue.store.steps import End, Stepping
from django_locqueue.store.unique import FreeingItems
from django_locqueue.store.values import Claimed, Key

CLAIMED_COLUMNS = ", ".join(Claimed._fields)
TABLE = Task._meta.db_table

# A claim ends what is unique only while it waits; an end, all but a window, which lasts as long as it was promised. A
# lock that was given up is not taken again: no retry and no rescue can meet another task that holds it.
UNLOCK_AT_CLAIM = "unique_lock = CASE WHEN unique_until = 'started' THEN NULL ELSE unique_lock END"
UNLOCK_AT_END = "unique_lock = CASE WHEN unique_until = 'window' THEN unique_lock END"

# The order of the index, without what is the same in all that is asked for: MariaDB sorts where a constant stands in an
# ORDER BY that is partly DESC.
IN_QUEUE = "ORDER BY priority DESC, run_after, id"
_NEXT_QUEUE = "ORDER BY queue_name, priority DESC, run_after, id LIMIT 1"
_FIRST = f"{IN_QUEUE} LIMIT 1"

# Walks from one queue name to the next through the ready index (a skip scan): its cost is the number of queues that
# have ready tasks, not the number of tasks. ORDER BY … LIMIT 1 and not MIN(): with the statistics of an empty table
# PostgreSQL reads the whole index for a MIN.
# The last row says whether any task waits for its turn under a limit: a probe of an index that is mostly empty.
_HEADS = f"""
WITH RECURSIVE queue (name) AS (
  SELECT (SELECT queue_name FROM {TABLE} WHERE state = 'ready' {_NEXT_QUEUE})
  UNION ALL
  SELECT (SELECT queue_name FROM {TABLE} WHERE state = 'ready' AND queue_name > queue.name {_NEXT_QUEUE})
  FROM queue WHERE queue.name IS NOT NULL
)
SELECT name,
  (SELECT priority FROM {TABLE} WHERE state = 'ready' AND queue_name = name {_FIRST}),
  (SELECT run_after FROM {TABLE} WHERE state = 'ready' AND queue_name = name {_FIRST})
FROM queue
WHERE name IS NOT NULL AND name NOT IN (SELECT name FROM locqueue_queue WHERE {{paused}})
UNION ALL
SELECT NULL, NULL, (SELECT run_after FROM {TABLE} WHERE state = 'blocked' AND limit_key IS NOT NULL
  ORDER BY queue_name, limit_key, priority DESC, run_after, id LIMIT 1)
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


class Look(NamedTuple):
    """What waits: the heads of the queues, and whether anything is under a limit."""

    heads: list[Head]
    is_limited: bool


class Mark(NamedTuple):
    """Where the last claim from a queue at one priority ended: the low-water mark of the next."""

    priority: int
    run_after: datetime
    id: int


class Serving(QueueKeeping, Reporting, FreeingItems, Stepping):
    by_ready = TABLE  # to be read by the index of ready tasks

    def claim(
        self,
        owner: Owner,
        limit: int,
        *,
        queues: Collection[str] = (),
        exclude_queues: Collection[str] = (),
        look: Look | None = None,
        now: datetime | None = None,
    ) -> list[Claimed]:
        """Give up to ``limit`` ready tasks to the owner, in the order of service. No queues: all that are not paused.

        ``look``: what was seen just now, by who wants to know it too.

        A claim reads one queue through its index and never sorts. Between queues the higher priority goes first,
        then the one whose first task has waited longest.
        """
        waiting = [
            head
            for head in (look or self.look(now=now)).heads
            if (not queues or head.queue_name in queues) and head.queue_name not in exclude_queues
        ]
        claimed: list[Claimed] = []
        while waiting and len(claimed) < limit:
            first, *rest = sorted(waiting, key=lambda head: (-head.priority, head.run_after))
            floor = rest[0].priority if rest else None
            claimed += self.claim_from(first.queue_name, owner, limit - len(claimed), floor, now=now)
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
            f"{_FIRST}",
            [queue_name, priority],
        )
        return [Head(queue_name, priority, self.load_time(run_after)) for priority, run_after in rows]

    def held(self, worker_id: int) -> list[Claimed]:
        """Return what is running for a worker, as the database knows it."""
        # Also what a claim took and could not read.
        times = [clock.bounded_sql(self.connection, column) for column in Claimed._fields[-4:]]
        columns = ", ".join([*Claimed._fields[:-4], *times])
        rows = self.fetch(f"SELECT {columns} FROM {TABLE} WHERE state = 'running' AND worker_id = %s", [worker_id])
        return self._loaded(rows)

    def look(self, *, now: datetime | None = None) -> Look:
        """Return the head of each queue that has ready tasks and is not paused, and whether any task is limited."""
        paused, params = self.paused_sql(now)
        *rows, (_, _, limited) = self.fetch_recursive(_HEADS.format(paused=paused), params)
        # A row may vanish between the sub-selects of one statement on some databases; it is not ready then.
        heads = [
            Head(name, priority, clock.storable(clock.EARLIEST) if run_after is None else self.load_time(run_after))
            for name, priority, run_after in rows
            if priority is not None
        ]
        return Look(heads, limited is not None)

    @repeated
    def claim_from(
        self,
        queue_name: str,
        owner: Owner,
        limit: int,
        floor: int | None = None,
        after: Mark | None = None,
        now: datetime | None = None,
    ) -> list[Claimed]:
        """Claim up to ``limit`` tasks of one queue, of at least priority ``floor``.

        ``after``: only those of the mark's priority behind it. What was claimed before it is still in the index while
        any transaction can see it as it was, and a claim from the head reads past all of it.
        """
        picked, params = self._picked_sql(queue_name, limit, floor, after, now)
        return self._claim_picked(picked, params, owner, now)

    def _claim_picked(self, picked: str, params: list[Any], owner: Owner, now: datetime | None) -> list[Claimed]:
        """Lock what ``SELECT … {picked}`` finds, mark it and return it: each database has its own way."""
        raise NotImplementedError

    def _picked_sql(
        self, queue_name: str, limit: int, floor: int | None, after: Mark | None, now: datetime | None
    ) -> tuple[str, list[Any]]:
        """The head of one queue, if it is not paused, in the order of the index, so that no planner sorts."""
        where, params = "", list[Any]()
        if after is not None:
            where, params = self._after_sql(after)
        elif floor is not None:
            where, params = "AND priority >= %s ", [floor]
        paused, paused_params = self.paused_sql(now)
        sql = (
            f"FROM {self.by_ready} WHERE state = 'ready' AND queue_name = %s {where}"
            f"AND NOT EXISTS (SELECT 1 FROM locqueue_queue WHERE name = %s AND {paused}) "
            f"{IN_QUEUE} LIMIT %s"
        )
        return sql, [queue_name, *params, queue_name, *paused_params, limit]

    def _after_sql(self, mark: Mark) -> tuple[str, list[Any]]:
        where = "AND priority = %s AND (run_after, id) > (%s, %s) "
        return where, [mark.priority, self.dump_time(mark.run_after), mark.id]

    def _claimed(self, rows: Sequence[Sequence[Any]]) -> list[Claimed]:
        """Return the rows as tasks, in the order of service: ``priority DESC, run_after, id``."""
        tasks = sorted(self._loaded(rows), key=_run_after_and_id)
        tasks.sort(key=_priority, reverse=True)  # which keeps the order of those that are alike
        return tasks

    def _loaded(self, rows: Sequence[Sequence[Any]]) -> list[Claimed]:
        load = self.load_time
        if load is as_it_is:  # a third of the time of what follows, for each task
            return list(map(_as_claimed, rows))
        return [Claimed(*row[:-4], *map(load, row[-4:])) for row in rows]  # the four times are the last

    # -- outcomes

    @repeated
    def ack(self, ended: Sequence[tuple[Claimed, Outcome]], *, now: datetime | None = None) -> dict[Key, State]:
        """Record how claimed tasks ended, in one transaction. Return the state that each accepted write left.

        That may be ``cancelled`` where the outcome only puts the task back: somebody asked it to stop meanwhile. What
        is not among the keys was no longer the worker's: rescued, requeued or deleted. Nothing changed for it.
        """
        # Rows are locked in the order of their ids, as everywhere: two batches that meet wait instead of deadlocking.
        ended = sorted(ended, key=_by_key)
        if all(
            outcome.kind is Kind.SUCCESSFUL and outcome.keep_row and outcome.report is None and task.workflow_id is None
            for task, outcome in ended
        ):  # all that is to be written is the successes themselves
            return dict.fromkeys(self._ack_successful(ended, now), State.SUCCESSFUL) if ended else {}
        if reports := [(task.key, outcome.report) for task, outcome in ended if outcome.report is not None]:
            with self.transaction():  # one lock over both, so that no earlier word of the task comes in between
                self._locked_workflows(task.workflow_id for task, _ in ended)  # before any of their tasks
                self.save_reports(reports)
                return self._ack(ended, now)
        return self._ack(ended, now)

    def _ack(self, ended: Sequence[tuple[Claimed, Outcome]], now: datetime | None) -> dict[Key, State]:
        with self.transaction():
            workflows = self._locked_workflows({task.workflow_id for task, _ in ended})
            if workflows:  # the next step needs the results, also those that nobody wants to keep
                ended = [
                    (task, outcome._replace(keep_row=True) if task.workflow_id in workflows else outcome)
                    for task, outcome in ended
                ]
            kept = [each for each in ended if each[1].kind is Kind.SUCCESSFUL and each[1].keep_row]
            written = dict.fromkeys(self._ack_successful(kept, now), State.SUCCESSFUL) if kept else {}
            written |= self._put_back_alike(ended, now)
            for task, outcome in ended:
                if task.key in written or (outcome.kind is Kind.SUCCESSFUL and outcome.keep_row):
                    continue  # written with its batch
                if (state := self._record(task, outcome, now)) is not None:
                    written[task.key] = state
            if workflows:
                states = ((task.workflow_id, written.get(task.key)) for task, _ in ended)
                ends = [End(pk, state) for pk, state in states if pk is not None and state in FINISHED]
                self._count_ends(workflows, ends, now)
            return written

    def release(self, tasks: Sequence[Claimed], *, delay: float = 0, now: datetime | None = None) -> dict[Key, State]:
        """Give claimed tasks back unrun, no attempt charged; nobody claims them for ``delay`` seconds."""
        return self.ack([(task, Outcome(Kind.RELEASED, delay=delay)) for task in tasks], now=now)

    def _ack_successful(self, ended: Sequence[tuple[Claimed, Outcome]], now: datetime | None) -> set[Key]:
        """Write a batch of successes that are to be kept, in one statement. Return those that were accepted."""
        raise NotImplementedError

    def _record(self, task: Claimed, outcome: Outcome, now: datetime | None) -> State | None:
        """Write one outcome and the attempt that it leaves. Return the new state, None if the write was refused."""
        time = self.time(now)
        match outcome.kind:
            case Kind.SUCCESSFUL | Kind.FAILED | Kind.CANCELLED:
                state = self._end(task, outcome, State(outcome.kind.value), time)
            case Kind.RETRIED:
                state = self._put_back(task, outcome, time, **_last_error(outcome))
            case Kind.SNOOZED | Kind.RELEASED:
                state = self._put_back(task, outcome, time, **_untried(task), **(outcome.columns or {}))
        if state in (State.FAILED, State.CANCELLED) and UNIQUE_ITEMS in (task.terms or ""):
            self._free_items_of([task.id])  # it may never have begun
        gone = state in FINISHED and not outcome.keep_row
        if state is not None and not gone and outcome.error is not None:
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
        return state

    def _end(self, task: Claimed, outcome: Outcome, state: State, time: Any) -> State | None:
        rows = self.fenced(*task.key)
        if not outcome.keep_row:
            return state if self._forget(task, rows) else None
        error = _BY_REQUEST if outcome.by_request else _last_error(outcome)
        return state if rows.update(state=state, finished_at=time, worker=None, **unlocked(), **error) else None

    def _put_back_alike(self, ended: Sequence[tuple[Claimed, Outcome]], now: datetime | None) -> dict[Key, State]:
        """Put those back together whose rows become alike: a backlog of tasks that nobody here knows.

        Return what was written. The rest, one that was cancelled meanwhile for instance, is left to be written alone.
        """
        alike: dict[Any, list[Claimed]] = {}
        for task, outcome in ended:
            if outcome.columns and task.attempt == 1:
                alike.setdefault((task.claim_no, outcome.delay, *outcome.columns.items()), []).append(task)
        written: dict[Key, State] = {}
        for (claim_no, delay, *columns), tasks in alike.items():
            rows = self.by_key([task.id for task in tasks], State.RUNNING)
            rows = rows.filter(claim_no=claim_no, cancel_requested=False).order_by("id").select_for_update()
            if found := list(rows.values_list("pk", flat=True)):
                changes = {**_untried(tasks[0]), **dict(columns), "state": State.SCHEDULED, "worker": None}
                run_after = self.time(now) + timedelta(seconds=delay)
                self.tasks.filter(pk__in=found).update(run_after=run_after, **changes)
                written |= {(pk, claim_no): State.SCHEDULED for pk in found}
        return written

    def _put_back(self, task: Claimed, outcome: Outcome, time: Any, **changes: Any) -> State | None:
        """Back to waiting. A task that was asked to stop meanwhile ends here instead, with the reason it was given."""
        if outcome.delay > 0:
            state, waiting = State.SCHEDULED, {"run_after": time + timedelta(seconds=outcome.delay)}
        else:
            state, waiting = task.turn, {}
        fenced = self.fenced(*task.key)
        if fenced.filter(cancel_requested=False).update(state=state, worker=None, **waiting, **changes):
            return state
        asked = fenced.filter(cancel_requested=True)
        if not outcome.keep_row:
            return State.CANCELLED if self._forget(task, asked) else None
        changes.update(state=State.CANCELLED, finished_at=time, worker=None, **unlocked(), **_BY_REQUEST)
        return State.CANCELLED if asked.update(**changes) else None

    def _forget(self, task: Claimed, fenced: QuerySet[Task]) -> bool:
        """Delete a row that nobody wants to keep, and what its earlier tries left."""
        if not fenced._raw_delete(self.alias):
            return False
        if task.attempt > 1:
            TaskAttempt.objects.using(self.alias).filter(task_id=task.id).delete()
        return True


_run_after_and_id = attrgetter("run_after", "id")
_priority = attrgetter("priority")
_by_key = itemgetter(0)  # of a claimed task the key comes first
_as_claimed = partial(tuple.__new__, Claimed)  # `_make` without its own frame for each row


_ATTEMPT_OUTCOMES = {
    Kind.FAILED: TaskAttempt.Outcome.FAILED,
    Kind.RETRIED: TaskAttempt.Outcome.FAILED,
    Kind.CANCELLED: TaskAttempt.Outcome.CANCELLED,
}


# What the row says; the try itself may have left another error, which is its attempt's.
_BY_REQUEST = {"error_class": class_path(Cancel), "error_message": F("cancel_reason")}


def _last_error(outcome: Outcome) -> dict[str, Any]:
    error = outcome.error
    changes: dict[str, Any] = {}
    if error is not None:
        changes = {"error_class": error.class_path, "error_message": error.message}
    if error is not None and outcome.kind in FAILURES:
        changes["error_group"] = error.kind.fingerprint  # its row comes with the counts, a few seconds later
    if outcome.kind is Kind.SUCCESSFUL:
        return {**changes, "return_value": Value(outcome.return_value, TextField())}
    return changes


def _untried(task: Claimed) -> dict[str, Any]:
    """The columns of the row as they were before the claim, except the claim number, which only grows."""
    before = "".join(f"{name}\n" for name in task.worker_names[:-1])
    changes: dict[str, Any] = {"attempt": task.attempt - 1, "worker_ids": before}
    return changes if task.attempt > 1 else {**changes, "started_at": None, "last_attempted_at": None}
