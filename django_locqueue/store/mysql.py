"""MySQL 8 and MariaDB 10.6+. No RETURNING from UPDATE: rows are locked and read, then written by primary key."""

from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from datetime import datetime
from itertools import chain
from typing import Any

from django.db import Error
from django.db.models import Model

from django_locqueue import clock
from django_locqueue.models import State, UniqueItem
from django_locqueue.policies.outcome import Outcome
from django_locqueue.store.serve import CLAIMED_COLUMNS, TABLE, UNLOCK_AT_CLAIM, UNLOCK_AT_END, Mark, Owner
from django_locqueue.store.store import Store
from django_locqueue.store.unique import lock_of
from django_locqueue.store.values import Call, Claimed, Enqueued, Key

# Deadlock victim, lock wait timeout; under REPEATABLE READ, MariaDB's "record has changed since last read".
_TRANSIENT = {1213, 1205, 1020}
MOST_STEPS = 1_000_000


class MySQLStore(Store):
    # MariaDB cannot name the table to lock; no statement here joins.
    _locks_by_table = False

    # Where an ORDER BY does not name all columns, another index that has the order by chance looks as good to MariaDB.
    by_ready = f"{TABLE} FORCE INDEX (locqueue_task_ready)"
    by_line = f"{TABLE} FORCE INDEX (locqueue_task_limited)"

    any_state_sql = "state"  # there are no partial indexes, and || is OR

    def fetch_recursive(self, sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        # By themselves they end after a thousand steps: MySQL with an error, MariaDB without the rest of the queues.
        if self.connection.mysql_is_mariadb:
            sql = f"SET STATEMENT max_recursive_iterations={MOST_STEPS} FOR {sql}"
        else:
            before, end, after = sql.rpartition("\n)\nSELECT ")  # of the last recursion
            sql = f"{before}{end}/*+ SET_VAR(cte_max_recursion_depth={MOST_STEPS}) */ {after}"
        return self.fetch(sql, params)

    def is_transient(self, error: Error) -> bool:
        return bool(error.args) and error.args[0] in _TRANSIENT

    def _insert(self, calls: Sequence[Call]) -> list[Enqueued]:
        if self.connection.features.can_return_rows_from_bulk_insert:  # MariaDB
            return super()._insert(calls)
        sql, params = self._insert_sql(calls)
        with self.transaction():
            with self.connection.cursor() as cursor:
                cursor.execute(sql, params)
                # InnoDB reserves the ids of a statement whose number of rows is known at once, in each of its lock
                # modes: nobody else's lie between them. They are auto_increment_increment apart (7 in a group).
                cursor.execute("SELECT LAST_INSERT_ID(), @@auto_increment_increment")
                first, step = cursor.fetchone()
            ids = [first + number * step for number in range(len(calls))]
            rows = self.tasks.filter(pk__in=ids).order_by("pk")
            stored = [Enqueued(*row) for row in rows.values_list("pk", "state", "run_after", "enqueued_at")]
            if [each.id for each in stored] != ids:
                # Inside the transaction, so that nothing is stored whose result the caller does not get.
                raise RuntimeError(f"Stored {len(calls)} tasks, and found {len(stored)} of them from id {first} on.")
            return stored

    share_lock = "LOCK IN SHARE MODE"
    # Of a small table it would rather read every row, and wait for those that others have locked. And who takes an
    # item and who frees it lock the index's entry first and then the row, in the same order.
    items_by_lock = f"{UniqueItem._meta.db_table} FORCE INDEX (`lock`)"

    def _insert_items(self, task_id: int, locks: Sequence[str], *, is_first: bool) -> None:
        # INSERT IGNORE locks what it finds, and the gap before it, into which another may want to insert.
        held = set(self._items.filter(lock__in=locks).values_list("lock", flat=True)) if is_first else set()
        if free := [lock for lock in locks if lock not in held]:
            super()._insert_items(task_id, free, is_first=is_first)

    def _insert_free(self, calls: Sequence[Call], *, is_first: bool) -> dict[str, Enqueued]:
        # What is known to be held is not tried: the try would lock first the entry of the index and then the row, a
        # claim and an outcome lock them the other way round, and the victim of the deadlock may be the caller.
        held = set(self._holder_ids(map(lock_of, calls)).values()) if is_first else set()
        # One at a time: the id says whether a row was stored, LAST_INSERT_ID(0) makes it 0 where one was found. And not
        # INSERT alone, which takes a share lock on what it finds: two that then want more than that are a deadlock.
        stored = {}
        for call in calls:
            if lock_of(call) in held:
                continue
            sql, params = self._insert_sql([call])
            # In a transaction, or the row could have run, and be gone, when it is read.
            with nullcontext() if self._in_transaction else self.transaction():
                with self.connection.cursor() as cursor:
                    cursor.execute(f"{sql} ON DUPLICATE KEY UPDATE claim_no = claim_no + LAST_INSERT_ID(0)", params)
                    task_id = cursor.lastrowid
                if task_id:
                    row = self.tasks.values_list("pk", "state", "run_after", "enqueued_at").get(pk=task_id)
                    stored[lock_of(call)] = Enqueued(*row)
        return stored

    def _holders(self, locks: Collection[str], *, to_change: bool) -> dict[str, Any]:
        if not (to_change or self._in_transaction):
            return super()._holders(locks, to_change=False)
        # Locked by their ids, see above; only what our snapshot does not have, by the index.
        rows = self._holder_rows(locks).filter(pk__in=self._holder_ids(locks)).order_by("id").select_for_update()
        found = {row.unique_lock: row for row in rows}
        missing = set(locks) - found.keys()
        return found | super()._holders(missing, to_change=True) if missing else found

    def _holder_ids(self, locks: Iterable[str]) -> dict[int, str]:
        rows = self.tasks.filter(unique_lock__in=list(locks)).values_list("pk", "unique_lock")
        return {pk: lock for pk, lock in rows if lock is not None}

    # Of what is to be inserted; the other form, of an alias, MariaDB does not know.
    new_value_sql = "VALUES({})"
    on_conflict_sql = "ON DUPLICATE KEY UPDATE"

    def _delete_by(self, model: type[Model], column: str, ids: Sequence[Any], index: str) -> int:
        # Of a small table it would rather read every row, and wait for those that others have locked.
        with self.connection.cursor() as cursor:
            marks = ", ".join(["%s"] * len(ids))
            cursor.execute(
                f"DELETE t FROM {model._meta.db_table} AS t FORCE INDEX (`{index}`) WHERE t.{column} IN ({marks})", ids
            )
            return int(cursor.rowcount)

    def _claim_picked(self, picked: str, params: list[Any], owner: Owner, now: datetime | None) -> list[Claimed]:
        time, time_params = self.now_sql(now)
        with self.transaction():
            rows = self.fetch(
                f"SELECT {CLAIMED_COLUMNS}, {time} {picked} FOR UPDATE SKIP LOCKED", [*time_params, *params]
            )
            if not rows:
                return []
            claimed_at = rows[0][-1]
            ids = [row[0] for row in rows]
            with self.connection.cursor() as cursor:
                cursor.execute(
                    f"""
                    UPDATE {TABLE} SET state = %s, claim_no = claim_no + 1, attempt = attempt + 1,
                      worker_id = %s, worker_ids = CONCAT(worker_ids, %s),
                      started_at = COALESCE(started_at, %s), last_attempted_at = %s,
                      {UNLOCK_AT_CLAIM}
                    WHERE id IN ({", ".join(["%s"] * len(ids))})
                    """,
                    [State.RUNNING, owner.id, f"{owner.name}\n", claimed_at, claimed_at, *ids],
                )
        # A time that was given comes back as text: a bare parameter has no type.
        at = self.load_time(claimed_at) if now is None else clock.storable(now)
        return [
            task._replace(
                claim_no=task.claim_no + 1,
                attempt=task.attempt + 1,
                worker_ids=f"{task.worker_ids}{owner.name}\n",
                started_at=at if task.started_at is None else task.started_at,
                last_attempted_at=at,
            )
            for task in self._claimed([row[:-1] for row in rows])
        ]

    def _after_sql(self, mark: Mark) -> tuple[str, list[Any]]:
        # A comparison of rows would not be used as a range of the index.
        time = self.dump_time(mark.run_after)
        where = "AND priority = %s AND run_after >= %s AND (run_after > %s OR id > %s) "
        return where, [mark.priority, time, time, mark.id]

    def _ack_successful(self, ended: Sequence[tuple[Claimed, Outcome]], now: datetime | None) -> set[Key]:
        keys = {task.key for task, _ in ended}
        with self.transaction():
            rows = self.by_key([id for id, _ in keys], State.RUNNING).select_for_update()
            ours = keys & set(rows.values_list("pk", "claim_no"))
            values = {task.id: outcome.return_value for task, outcome in ended if task.key in ours}
            if values:
                time, time_params = self.now_sql(now)
                table = " UNION ALL ".join(["SELECT %s AS id, %s AS value"] * len(values))
                with self.connection.cursor() as cursor:
                    cursor.execute(
                        f"""
                        UPDATE {TABLE} JOIN ({table}) AS ended ON {TABLE}.id = ended.id
                        SET state = 'successful', finished_at = {time}, return_value = ended.value, worker_id = NULL,
                          {UNLOCK_AT_END}
                        """,
                        [*chain.from_iterable(values.items()), *time_params],
                    )
            return ours
