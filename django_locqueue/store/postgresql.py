"""PostgreSQL 14+."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import psycopg
from django.conf import settings
from django.db import Error, transaction

from django_locqueue import clock
from django_locqueue.models import State
from django_locqueue.policies.outcome import Outcome
from django_locqueue.store.base import as_it_is
from django_locqueue.store.enqueue import columns_with
from django_locqueue.store.notify import Notifying
from django_locqueue.store.prepared import Preparing
from django_locqueue.store.serve import CLAIMED_COLUMNS, TABLE, UNLOCK_AT_CLAIM, UNLOCK_AT_END, Owner
from django_locqueue.store.unique import lock_of
from django_locqueue.store.values import Call, Claimed, Enqueued, Key

# Deadlock victim, serialisation failure (under REPEATABLE READ, SKIP LOCKED meets rows changed since the snapshot).
_TRANSIENT = {"40P01", "40001"}


COPY_FROM = 100  # rows: below, the second round trip costs more than COPY saves


class PostgreSQLStore(Notifying):
    time_parameter = "%s::timestamptz"  # a bare parameter in CASE WHEN has no type
    _preparing = Preparing()  # driver's connections are of one thread at a time, whatever the alias

    def cursor(self) -> Any:
        """Parameters travel beside the statement and values come back in binary.

        Django's own cursor writes parameters into the text and reads times with Python code: twice the time.
        """
        connection = self.connection
        connection.validate_thread_sharing()
        connection.close_if_health_check_failed()
        connection.ensure_connection()
        cursor = psycopg.Cursor(connection.connection)
        cursor.format = psycopg.pq.Format.BINARY
        return (connection.make_debug_cursor if connection.queries_logged else connection.make_cursor)(cursor)

    @property
    def load_time(self) -> Callable[[Any], datetime]:
        return as_it_is if settings.USE_TZ else _naive

    def is_transient(self, error: Error) -> bool:
        return getattr(error.__cause__, "sqlstate", None) in _TRANSIENT

    def _insert(self, calls: Sequence[Call]) -> list[Enqueued]:
        connection = self.connection
        if len(calls) > 1 or not connection.get_autocommit():
            return super()._insert(calls)
        return self._preparing.run(connection, partial(super()._insert, calls))

    def _insert_many(self, calls: Sequence[Call]) -> list[Enqueued]:
        return self._insert(calls) if len(calls) < COPY_FROM else self._copy(calls)

    def _copy(self, calls: Sequence[Call]) -> list[Enqueued]:
        """Store calls by COPY, half the time of an INSERT. It returns nothing, so the ids are drawn before."""
        ids, at = self._draw_ids(len(calls))
        now = self.load_time(at)
        frames: dict[tuple[Any, ...], tuple[str, str, str, datetime]] = {}
        lines, stored = [], []
        for id, call in zip(ids, calls, strict=True):
            shared = (call.task_path, call[2:])  # by all calls that differ in their arguments only
            if shared not in frames:
                frames[shared] = self._frame(call, at, now)
            before, after, state, run_after = frames[shared]
            lines.append(f"{id}{before}{_escaped(call.args_kwargs)}{after}")
            stored.append(Enqueued(id, state, run_after, now))
        with (
            self.cursor() as cursor,
            self.connection.wrap_database_errors,
            cursor.copy(f"COPY {TABLE} (id, {columns_with(calls[0].extra)}) FROM STDIN") as copy,
        ):
            copy.write("".join(lines))
        return stored

    def _draw_ids(self, count: int) -> tuple[list[int], Any]:
        """Return ids for new tasks, and the database's time."""
        rows = self.fetch(
            f"""
            SELECT array_agg(nextval((SELECT pg_get_serial_sequence('{TABLE}', 'id'))::regclass)),
              {clock.now_sql(self.connection)}
            FROM generate_series(1, %s)
            """,
            [count],
        )
        return rows[0]

    # A share lock, so that two who leave a call out for the same task do not wait for each other.
    share_lock = "FOR SHARE"

    def _insert_free(self, calls: Sequence[Call], *, is_first: bool) -> dict[str, Enqueued]:
        if len(calls) > 1:
            # In the order of their locks: who stores the same ones waits, and there is no deadlock. Their ids, which
            # are the order of service, are drawn before.
            ids = self._draw_ids(len(calls))[0]
            with_ids = (call._replace(extra=(*call.extra, ("id", id))) for id, call in zip(ids, calls, strict=True))
            calls = sorted(with_ids, key=lock_of)
        return super()._insert_free(calls, is_first=is_first)

    def _keep_waiting(self, ids: set[int]) -> set[int]:
        while ids and self._in_transaction:
            with self.transaction():
                rows = self.fetch(
                    f"SELECT id FROM {TABLE} WHERE id = ANY(%s) AND unique_lock IS NOT NULL "
                    f"AND state || '' IN ('scheduled', 'ready', 'blocked') ORDER BY id FOR SHARE",
                    [list(ids)],
                )
                still = {row[0] for row in rows}
                if still == ids:
                    break
                # The lock on one that has been claimed meanwhile would hold up its outcome.
                transaction.set_rollback(True, using=self.alias)
            ids = still
        return ids

    def _frame(self, call: Call, at: datetime, now: datetime) -> tuple[str, str, str, datetime]:
        """Return what stands before and after a call's arguments in its line, its state and its time.

        ``at``: the database's time, aware; ``now``: the same as Django wants it.
        """
        run_after = now if call.run_after is None else clock.storable(call.run_after)
        state = State.SCHEDULED if run_after > now else State(call.turn)
        due = at if run_after is now else run_after
        before = ("", state.value, due.isoformat(), at.isoformat(), _escaped(call.task_path), "")
        after = (
            *("", _escaped(call.queue_name), str(call.priority), str(call.max_attempts)),
            *(_escaped(call.backend_alias), _escaped(call.metadata), "0\t0\t0\t\t\t\tf"),
            *(_escaped(None if value is None else str(value)) for _, value in call.extra),
        )
        return "\t".join(before), "\t".join(after) + "\n", state.value, run_after

    def _claim_picked(self, picked: str, params: list[Any], owner: Owner, now: datetime | None) -> list[Claimed]:
        time, time_params = self.now_sql(now)
        # A materialised CTE and not a sub-select: the planner may run a sub-select again and claim more than `limit`.
        # NO KEY UPDATE: the lock that an UPDATE of other columns takes, which foreign keys do not wait for.
        rows = self.fetch(
            f"""
            WITH picked AS MATERIALIZED (SELECT id {picked} FOR NO KEY UPDATE SKIP LOCKED)
            UPDATE {TABLE} SET state = 'running', claim_no = claim_no + 1, attempt = attempt + 1,
              worker_id = %s, worker_ids = worker_ids || %s,
              started_at = COALESCE(started_at, {time}), last_attempted_at = {time},
              {UNLOCK_AT_CLAIM}
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
              worker_id = NULL, {UNLOCK_AT_END}
            FROM unnest(%s::bigint[], %s::bigint[], %s::text[]) AS ended (id, claim_no, return_value)
            WHERE {TABLE}.id = ended.id AND {TABLE}.claim_no = ended.claim_no AND {TABLE}.state || '' = 'running'
            RETURNING {TABLE}.id, {TABLE}.claim_no
            """,
            [
                *time_params,
                f"{{{','.join([str(task.id) for task, _ in ended])}}}",
                f"{{{','.join([str(task.claim_no) for task, _ in ended])}}}",
                f"{{{','.join([_quoted(outcome.return_value) for _, outcome in ended])}}}",
            ],
        )
        return set(rows)

    def _ids_sql(self, ids: Sequence[int]) -> tuple[str, list[object]]:
        # As below: of what can be counted it would rather read the table.
        return "id = ANY(ARRAY(SELECT unnest(%s::bigint[])))", [f"{{{','.join(map(str, ids))}}}"]

    def _make_ready(self, ids: list[int]) -> int:
        # As in the batch above. And ARRAY(SELECT …), of which the planner believes that it holds ten: for 500 ids that
        # it can count it would rather read the table.
        with self.connection.cursor() as cursor:
            cursor.execute(
                f"""
                UPDATE {TABLE} SET state = CASE WHEN limit_key IS NULL THEN 'ready' ELSE 'blocked' END
                WHERE id = ANY(ARRAY(SELECT unnest(%s::bigint[]))) AND state || '' = 'scheduled'
                """,
                [ids],
            )
            return int(cursor.rowcount)


_QUALIFIED = ", ".join(f"{TABLE}.{column}" for column in CLAIMED_COLUMNS.split(", "))


def _naive(value: Any) -> Any:
    # The binary form is aware and in the session's time zone, which is that in which Django stores naive times.
    return None if value is None else value.replace(tzinfo=None)


def _quoted(text: str | None) -> str:
    """Return text as an element of an array's literal: the driver's own way to write lists takes five times as long."""
    if text is None:
        return "NULL"
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def _escaped(text: str | None) -> str:
    """Return text as COPY reads it."""
    if text is None:
        return "\\N"
    if "\\" in text:
        text = text.replace("\\", "\\\\")
    return text if text.isprintable() else text.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
