"""PostgreSQL 14+."""

from collections.abc import Sequence
from datetime import datetime

from django.db import Error

from django_locqueue import clock
from django_locqueue.policies.outcome import Outcome
from django_locqueue.store.base import repeated
from django_locqueue.store.enqueue import CALL_COLUMNS, COLUMNS, CONSTANTS, columns_of
from django_locqueue.store.notify import Notifying
from django_locqueue.store.serve import CLAIMED_COLUMNS, TABLE, Owner
from django_locqueue.store.values import Call, Claimed, Enqueued, Key

# Deadlock victim, serialisation failure (under REPEATABLE READ, SKIP LOCKED meets rows changed since the snapshot).
_TRANSIENT = {"40P01", "40001"}


class PostgreSQLStore(Notifying):
    time_parameter = "%s::timestamptz"  # a bare parameter in CASE WHEN has no type

    def load_time(self, value: datetime) -> datetime:
        return value  # the driver gives it as Django wants it

    def is_transient(self, error: Error) -> bool:
        return getattr(error.__cause__, "sqlstate", None) in _TRANSIENT

    def _insert(self, calls: Sequence[Call]) -> list[Enqueued]:
        """Many rows from one array for each column: a quarter of the time of as many parameter lists."""
        if len(calls) == 1:
            return super()._insert(calls)
        now = clock.now_sql(self.connection)
        rows = self.fetch(
            f"""
            INSERT INTO {TABLE} ({COLUMNS})
            SELECT CASE WHEN call.run_after > {now} THEN 'scheduled' ELSE 'ready' END,
              COALESCE(call.run_after, {now}), {now}, {_CALL}, {CONSTANTS}
            FROM unnest(%s::timestamptz[], %s::text[], %s::text[], %s::text[], %s::int[], %s::int[], %s::text[],
              %s::text[]) WITH ORDINALITY AS call (run_after, {CALL_COLUMNS}, position)
            ORDER BY call.position
            RETURNING id, state, run_after, enqueued_at
            """,
            [
                [None if call.run_after is None else self.dump_time(call.run_after) for call in calls],
                *map(list, zip(*map(columns_of, calls), strict=True)),
            ],
        )
        return [Enqueued(*row) for row in sorted(rows)]

    @repeated
    def claim_from(
        self, queue_name: str, owner: Owner, limit: int, floor: int | None = None, now: datetime | None = None
    ) -> list[Claimed]:
        picked, params = self._picked_sql(queue_name, limit, floor)
        time, time_params = self.now_sql(now)
        # A materialised CTE and not a sub-select: the planner may run a sub-select again and claim more than `limit`.
        # NO KEY UPDATE: the lock that an UPDATE of other columns takes, which foreign keys do not wait for.
        rows = self.fetch(
            f"""
            WITH picked AS MATERIALIZED (SELECT id {picked} FOR NO KEY UPDATE SKIP LOCKED)
            UPDATE {TABLE} SET state = 'running', claim_no = claim_no + 1, attempt = attempt + 1,
              worker_id = %s, worker_ids = worker_ids || %s,
              started_at = COALESCE(started_at, {time}), last_attempted_at = {time}
            FROM picked WHERE {TABLE}.id = picked.id
            RETURNING {_QUALIFIED}
            """,
            [*params, owner.id, f"{owner.name}\n", *time_params, *time_params],
        )
        return self._claimed(rows)

    def _ack_successful(self, ended: Sequence[tuple[Claimed, Outcome]], now: datetime | None) -> set[Key]:
        time, time_params = self.now_sql(now)
        # `state || ''` keeps the planner away from the partial index of running rows: with statistics of an empty
        # table that index looks free, and each batch would read every running row.
        rows = self.fetch(
            f"""
            UPDATE {TABLE} SET state = 'successful', finished_at = {time}, return_value = ended.return_value,
              worker_id = NULL
            FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS ended (id, claim_no, return_value)
            WHERE {TABLE}.id = ended.id AND {TABLE}.claim_no = ended.claim_no AND {TABLE}.state || '' = 'running'
            RETURNING {TABLE}.id, {TABLE}.claim_no
            """,
            [
                *time_params,
                [task.id for task, _ in ended],
                [task.claim_no for task, _ in ended],
                [outcome.return_value for _, outcome in ended],
            ],
        )
        return {(row[0], row[1]) for row in rows}

    def _make_ready(self, ids: list[int]) -> int:
        # As in the batch above. And ARRAY(SELECT …), of which the planner believes that it holds ten: for 500 ids that
        # it can count it would rather read the table.
        with self.connection.cursor() as cursor:
            cursor.execute(
                f"""
                UPDATE {TABLE} SET state = 'ready'
                WHERE id = ANY(ARRAY(SELECT unnest(%s::bigint[]))) AND state || '' = 'scheduled'
                """,
                [ids],
            )
            return int(cursor.rowcount)


_CALL = ", ".join(f"call.{column}" for column in CALL_COLUMNS.split(", "))
_QUALIFIED = ", ".join(f"{TABLE}.{column}" for column in CLAIMED_COLUMNS.split(", "))
