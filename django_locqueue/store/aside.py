"""The rows that no worker can claim or read, taken out of the way of the others.

Edited by hand, or written by a faulty import: a count that is at its column's end, the time `infinity`, a text where
SQLite should hold a number. A claim takes many rows, so one of these would hold up all that are claimed with it. Only
after a claim that failed for its data are they looked for; a claim itself does nothing for their sake.
"""

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import DatabaseError, DataError, IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Coalesce

from django_locqueue.exceptions import DamagedTask
from django_locqueue.models import STARTABLE, State
from django_locqueue.policies.fingerprint import kind_of
from django_locqueue.policies.outcome import MESSAGE_LENGTH, class_path, shortened
from django_locqueue.policies.terms import load_terms
from django_locqueue.store.base import repeated, unlocked
from django_locqueue.store.lines import Line, LineReading
from django_locqueue.store.look_back import LookingBack
from django_locqueue.store.recover import Recovering
from django_locqueue.store.serve import CLAIMED_COLUMNS, TABLE
from django_locqueue.store.steps import End
from django_locqueue.store.values import Claimed

logger = logging.getLogger("django_locqueue.store")

# What a value raises that the database cannot count up, the driver cannot read, or our own code cannot compare.
DAMAGE = (DataError, IntegrityError, ValueError, TypeError, OverflowError)

LOOKED_AT = 1000  # rows from the head of each queue: more than a claim takes

# For a row that refuses every write as it is: it breaks a constraint that was added, or switched off, by hand.
_HARMLESS = {"attempt": 0, "crashes": 0, "max_attempts": 1, "priority": 0, "worker_ids": ""}


class SettingAside(LineReading, LookingBack, Recovering):
    @repeated
    def set_aside(self, *, limit: int = LOOKED_AT, now: datetime | None = None) -> list[int]:
        """Fail the tasks at the heads of the queues and lines whose rows cannot be claimed; return their ids.

        What cannot even be written is logged and stays. Sends no signal: ``endings.set_aside`` does.
        """
        found: list[int] = []
        for ids in self._heads(limit, now):
            found += self._set_aside(ids, now)
        return found

    def _heads(self, limit: int, now: datetime | None) -> Iterator[Sequence[int]]:
        for head in self.find_ready(limit):
            yield head.ids
        # There may be thousands of lines with a task in each: their heads are tried together.
        ids: list[int] = []
        for line in self._all_lines(now):
            ids += self._first_of(line, limit)
            while len(ids) >= limit:
                yield ids[:limit]
                ids = ids[limit:]
        yield ids

    def _all_lines(self, now: datetime | None) -> Iterator[Line]:
        for queue_name in self.limited_queues(now=now):
            keys = [""]
            while keys := self.line_keys(queue_name, keys[-1], LOOKED_AT):
                yield from (Line(queue_name, key) for key in keys)

    def _first_of(self, line: Line, limit: int) -> list[int]:
        limited = self.tasks.limited().filter(queue_name=line.queue_name, limit_key=line.limit_key)
        first = limited.order_by("queue_name", "limit_key", "-priority", "run_after", "id")
        return list(first.values_list("pk", flat=True)[:limit])

    def _set_aside(self, ids: Sequence[int], now: datetime | None) -> list[int]:
        """Look for them by halves: among a thousand rows one costs ten tries."""
        error = self._try_to_claim(ids, now) if ids else None
        if error is None:
            return []
        if len(ids) > 1:
            half = len(ids) // 2
            return self._set_aside(ids[:half], now) + self._set_aside(ids[half:], now)
        return [*ids] if self._fail(ids[0], error, now) else []

    def _try_to_claim(self, ids: Sequence[int], now: datetime | None) -> Exception | None:
        """Return what a claim of these rows raises. Whatever it does is rolled back."""
        try:
            with self.transaction():
                self.by_key(ids, *STARTABLE).update(
                    claim_no=F("claim_no") + 1,
                    attempt=F("attempt") + 1,
                    started_at=Coalesce("started_at", self.time(now)),
                    last_attempted_at=self.time(now),
                )
                marks = ", ".join(["%s"] * len(ids))
                rows = self.fetch(f"SELECT {CLAIMED_COLUMNS} FROM {TABLE} WHERE id IN ({marks})", list(ids))
                for task in self._loaded(rows):
                    _check(task)
                transaction.set_rollback(True, using=self.alias)
        except DAMAGE as error:
            return error
        return None

    def _fail(self, task_id: int, error: Exception, now: datetime | None) -> bool:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = f"This row cannot be claimed: {lines[0]}"
        logger.error("Task %d is failed, so that it holds up no other. %s", task_id, reason)
        changes: dict[str, Any] = {
            "state": State.FAILED,
            "finished_at": self.time(now),
            "error_class": class_path(DamagedTask),
            "error_message": shortened(reason, MESSAGE_LENGTH),
            **unlocked(),
        }
        changes["error_group"] = kind_of(changes["error_class"], changes["error_message"], None).fingerprint
        for values in (changes, {**changes, **_HARMLESS}):
            try:
                with self.transaction():
                    return self._end_ready(task_id, values, now)
            except DatabaseError as refused:
                if self.is_transient(refused):
                    raise
        logger.error("Task %d can be neither claimed nor written. Mend or delete its row by SQL.", task_id)
        return False

    def _end_ready(self, task_id: int, values: dict[str, Any], now: datetime | None) -> bool:
        member = self._members([task_id]).get(task_id)
        workflows = self._locked_workflows([member.workflow_id]) if member else {}
        if not self.by_key([task_id], *STARTABLE).update(**values):
            return False  # it has begun, or ended, meanwhile
        self._free_items_of([task_id])
        if member:
            self._count_ends(workflows, [End(member.workflow_id, State.FAILED, member.step)], now)
        return True


_TYPES = Claimed.__annotations__


def _check(task: Claimed) -> None:
    """Raise TypeError for a value that is not of its column's type: SQLite keeps any, 0000-00-00 is none.

    ValueError for terms that nobody has written so.
    """
    load_terms(task.terms)
    for (name, kind), value in zip(_TYPES.items(), task, strict=True):
        if not isinstance(value, kind):
            raise TypeError(f"{name} is {value!r:.80}, which is no {getattr(kind, '__name__', kind)}")
