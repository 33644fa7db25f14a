"""SQLite 3.35+. There are no row locks: one writer at a time, so each write transaction is short and begins as one."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import chain
from typing import Any

from django.db import Error, transaction

from django_locqueue.policies.outcome import Outcome
from django_locqueue.store.serve import CLAIMED_COLUMNS, TABLE, UNLOCK_AT_CLAIM, UNLOCK_AT_END, Owner
from django_locqueue.store.store import Store
from django_locqueue.store.values import Claimed, Key


class SQLiteStore(Store):
    for_update = skip_locked = ""  # who has begun a transaction is alone

    @contextmanager
    def transaction(self) -> Iterator[None]:
        # BEGIN IMMEDIATE: a transaction that begins by reading cannot wait for the write lock later, it fails at
        # once. Django reads the mode when the outermost atomic block begins.
        connection = self.connection
        if connection.in_atomic_block:
            with transaction.atomic(using=self.alias):
                yield
            return
        connection.ensure_connection()
        mode, connection.transaction_mode = connection.transaction_mode, "IMMEDIATE"
        try:
            with transaction.atomic(using=self.alias):
                connection.transaction_mode = mode
                yield
        finally:
            connection.transaction_mode = mode

    def is_transient(self, error: Error) -> bool:
        return "locked" in str(error)

    def _claim_picked(self, picked: str, params: list[Any], owner: Owner, now: datetime | None) -> list[Claimed]:
        time, time_params = self.now_sql(now)
        rows = self.fetch(
            f"""
            UPDATE {TABLE} SET state = 'running', claim_no = claim_no + 1, attempt = attempt + 1,
              worker_id = %s, worker_ids = worker_ids || %s,
              started_at = COALESCE(started_at, {time}), last_attempted_at = {time},
              {UNLOCK_AT_CLAIM}
            WHERE id IN (SELECT id {picked})
            RETURNING {CLAIMED_COLUMNS}
            """,
            [owner.id, f"{owner.name}\n", *time_params, *time_params, *params],
        )
        return self._claimed(rows)

    def _ack_successful(self, ended: Sequence[tuple[Claimed, Outcome]], now: datetime | None) -> set[Key]:
        time, time_params = self.now_sql(now)
        rows = self.fetch(
            f"""
            WITH ended (id, claim_no, return_value) AS (VALUES {", ".join(["(%s, %s, %s)"] * len(ended))})
            UPDATE {TABLE} SET state = 'successful', finished_at = {time}, return_value = ended.return_value,
              worker_id = NULL, {UNLOCK_AT_END}
            FROM ended
            WHERE {TABLE}.id = ended.id AND {TABLE}.claim_no = ended.claim_no AND {TABLE}.state || '' = 'running'
            RETURNING id, claim_no
            """,
            [*chain.from_iterable((task.id, task.claim_no, each.return_value) for task, each in ended), *time_params],
        )
        return {(row[0], row[1]) for row in rows}
