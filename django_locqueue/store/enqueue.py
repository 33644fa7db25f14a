"""Storing calls: one statement for one, a few for thousands."""

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

from django_locqueue.models import State, Task
from django_locqueue.store.base import StoreBase, repeated
from django_locqueue.store.values import Call, Enqueued

BATCH = 1000  # rows a statement: 20 parameters each at most, under PostgreSQL's 65,535 and SQLite's 32,766

CALL_COLUMNS = "task_path, args_kwargs, queue_name, priority, max_attempts, backend_alias, metadata"
COLUMNS = (
    f"state, run_after, enqueued_at, {CALL_COLUMNS}, "
    "attempt, crashes, claim_no, worker_ids, error_class, error_message, cancel_requested"
)
CONSTANTS = "0, 0, 0, '', '', '', FALSE"

columns_of = attrgetter(*CALL_COLUMNS.split(", "))


class Enqueuing(StoreBase):
    time_parameter = "%s"  # with a cast where the database cannot tell the type of a bare parameter

    @repeated
    def enqueue(self, call: Call) -> Enqueued:
        """Store one call, in the caller's transaction if there is one."""
        return self._insert([call])[0]

    @repeated
    def enqueue_many(self, calls: Sequence[Call]) -> list[Enqueued]:
        """Store many calls, all or none, in their order."""
        return self._insert_many(calls) if calls else []

    def _insert_many(self, calls: Sequence[Call]) -> list[Enqueued]:
        if len(calls) <= BATCH:
            return self._insert(calls)
        with self.transaction():
            return [
                enqueued
                for start in range(0, len(calls), BATCH)
                for enqueued in self._insert(calls[start : start + BATCH])
            ]

    def _insert(self, calls: Sequence[Call]) -> list[Enqueued]:
        sql, params = self._insert_sql(calls)
        rows = self.fetch(f"{sql} RETURNING id, state, run_after, enqueued_at", params)
        if len(rows) > 1:
            rows.sort()  # ids are given in the order of the rows; the order of RETURNING is not promised
        load = self.load_time
        return [Enqueued(id, state, load(run_after), load(enqueued_at)) for id, state, run_after, enqueued_at in rows]

    def _insert_sql(self, calls: Sequence[Call]) -> tuple[str, list[Any]]:
        now, _ = self.now_sql(None)
        rows: list[str] = []
        params: list[Any] = []
        for call in calls:
            is_delayed = call.run_after is not None
            rows.append(_row_sql(now, self.time_parameter, call.turn, len(call.extra), is_delayed=is_delayed))
            if call.run_after is not None:
                due = self.dump_time(call.run_after)
                params += (due, due)
            params += columns_of(call)
            params += [value for _, value in call.extra]
        return f"INSERT INTO {Task._meta.db_table} ({columns_with(calls[0].extra)}) VALUES {', '.join(rows)}", params


def columns_with(extra: Sequence[tuple[str, Any]]) -> str:
    """Return the columns of an INSERT whose calls have these extra ones."""
    return ", ".join([COLUMNS, *(name for name, _ in extra)])


@lru_cache
def _row_sql(now: str, at: str, turn: str, extra: int, *, is_delayed: bool) -> str:
    # Whether its time has come is judged by the database's clock, here and at promotion.
    state = f"CASE WHEN {at} > {now} THEN '{State.SCHEDULED}' ELSE '{turn}' END"
    times = f"{state}, {at}, {now}" if is_delayed else f"'{turn}', {now}, {now}"
    return f"({times}, %s, %s, %s, %s, %s, %s, %s, {CONSTANTS}{', %s' * extra})"
