"""One change to many tasks, made batch by batch, in short transactions: the rows of ``BulkOperation``.

Whoever works on an operation has a lease on it: ``next_at`` is when another worker may go on, and at the same time the
token by which a write is known to be of the one who has it. A batch's changes, its counts and where it ended are
written by one transaction, so a worker that dies leaves nothing that is done twice or counted wrong.
"""

import logging
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import Error, InterfaceError, OperationalError
from django.db.models import Max, Min, Q, QuerySet
from django.db.models.functions import Coalesce

from django_locqueue.models import BulkOperation, Task, orderings
from django_locqueue.models.activity import REASON_LENGTH
from django_locqueue.models.task import TaskQuerySet
from django_locqueue.policies import masking
from django_locqueue.policies.outcome import shortened
from django_locqueue.statement_limit import TooSlow, statement_limit
from django_locqueue.store.base import repeated
from django_locqueue.store.control import Controlling
from django_locqueue.store.selection import Selection

logger = logging.getLogger("django_locqueue")

BATCH = 500
LOOK = 20_000  # rows, for a batch of those that match
MOST = 1_000_000  # tasks that one operation changes
LEASE_SECONDS = 30.0  # what finding and changing a batch may take before another worker goes on with it
COUNT_SECONDS = 10.0  # what counting them may take
PACE_SECONDS = 5.0  # with a rate, a batch is what it allows in so long
SOURCE = "bulk operation"  # of an activity
State = BulkOperation.State
UNFINISHED = (State.WAITING, State.RUNNING)
# Of a waiting task that was changed the order may change, and it would be met again.
TARGETS = {"move": "queue_name", "change_priority": "priority", "change_time": "run_after"}

Apply = Callable[[Sequence[int]], Sequence[int]]


class Found(NamedTuple):
    """Tasks of an operation, and where the look for them ended, by what its ordering names; None: nothing is behind."""

    ids: list[int]
    end: Mapping[str, Any] | None


class Bulk(Controlling):
    @property
    def bulk_operations(self) -> QuerySet[BulkOperation]:
        return BulkOperation.objects.using(self.alias)

    # -- what a person asks for

    def upper_id(self) -> int:
        """Return the largest id there is: of a task that comes later nobody has spoken."""
        return self.tasks.aggregate(most=Max("pk"))["most"] or 0

    def add_bulk(
        self,
        verb: str,
        selection: Selection,
        *,
        by: str,
        user_id: str = "",
        reason: str = "",
        options: Mapping[str, Any] | None = None,
        matched: int,
        most: int = MOST,
        rate: int | None = None,
        upper_id: int | None = None,
        asked_at: datetime | None = None,
        start_at: datetime | None = None,
        nonce: uuid.UUID | None = None,
    ) -> BulkOperation:
        """Ask for a change to all tasks that match. ``matched``: how many did, at most ``most + 1``; 0: not counted.

        ``rate``: tasks a minute. ``asked_at``: the moment whose tasks are meant, with ``upper_id``; None: now.
        ``user_id``: whose permissions are asked for again when it starts; empty for a command. ``nonce``: of the form;
        one that has begun an operation already raises IntegrityError.
        """
        now = self.now()
        return self.bulk_operations.create(
            nonce=nonce or uuid.uuid4(),
            verb=verb,
            selection=selection.as_json(),
            options=dict(options or {}),
            upper_id=self.upper_id() if upper_id is None else upper_id,
            most=most,
            rate=rate,
            matched=matched,
            user_id=user_id,
            user_name=shortened(by, 150),
            reason=shortened(reason, REASON_LENGTH),
            created_at=asked_at or now,
            next_at=start_at or now,
        )

    def unfinished_bulk(
        self, verb: str, selection: Selection, options: Mapping[str, Any] | None = None
    ) -> BulkOperation | None:
        """Return an operation that is doing the same already; without ``options``, whatever its own are."""
        wanted = selection.as_json()
        same = self.bulk_operations.filter(state__in=UNFINISHED, verb=verb).order_by("id")[:100]
        return next(
            (each for each in same if each.selection == wanted and options in (None, each.options)),
            None,
        )

    def bulk_tasks(self, operation: BulkOperation) -> TaskQuerySet:
        """Return the tasks that an operation is to change, in the order of their index."""
        selection = Selection.from_json(operation.selection)
        return selection.matching(self._listed_bulk(operation, selection)).order_by(*selection.ordering)

    def first_bulk_tasks(self, operation: BulkOperation, most: int) -> tuple[TaskQuerySet, bool]:
        """Return those of them that are among the first ``most`` of the listing; and whether there are more of it.

        What a page can count. Where each row of the listing matches, all are returned.
        """
        selection = Selection.from_json(operation.selection)
        rows, end = first_of(self._listed_bulk(operation, selection), selection, most)
        return selection.matching(rows).order_by(*selection.ordering), end is not None

    def count_bulk(self, operation: BulkOperation) -> int:
        """Count what an operation that was not counted is to change, and store it; 0 if that takes too long.

        For who has it, and well within the lease: nobody else begins meanwhile.
        """
        try:
            with statement_limit(self.alias, COUNT_SECONDS):
                matched = self.bulk_tasks(operation).values("pk")[: operation.most + 1].count()
        except TooSlow:
            return 0
        own = self.bulk_operations.filter(pk=operation.pk, state=State.RUNNING, next_at=operation.next_at)
        return matched if own.update(matched=matched) else 0

    def _listed_bulk(self, operation: BulkOperation, selection: Selection) -> TaskQuerySet:
        """Return the same before the conditions that no index serves."""
        rows = selection.listed(self.tasks).filter(pk__lte=operation.upper_id)
        # What fails anew while it runs was not meant either.
        had_ended = Q(finished_at__lte=operation.created_at)
        if orderings.names(selection.ordering)[0] != "finished_at":  # whose index SQLite leaves for an OR
            had_ended |= Q(finished_at=None)
        rows = rows.filter(had_ended)
        column = TARGETS.get(operation.verb)
        if column is not None and column in operation.options:
            rows = rows.exclude(**{column: _loaded(column, operation.options[column])})
        return rows

    @repeated
    def stop_bulk(self, operation_id: int, *, by: str) -> bool:
        """Stop behind the batch that is under way. Return whether there was something to stop."""
        with self.transaction():
            operation = self._locked_bulk(pk=operation_id, state__in=UNFINISHED)
            if operation is not None:
                operation.stopped_by = shortened(by, 150)
                self._end_bulk(operation, State.STOPPED, self.now())
            return operation is not None

    # -- what a worker does

    def bulk_is_due(self, *, now: datetime | None = None) -> bool:
        return self._due_bulk(now).exists()

    def next_bulk_in(self) -> float | None:
        """Return the seconds until somebody may go on with an operation; None if there is none."""
        first = self.bulk_operations.filter(state__in=UNFINISHED).aggregate(first=Min("next_at"))["first"]
        return None if first is None else float((first - self.now()).total_seconds())

    def take_bulk(self, *, only: int | None = None, now: datetime | None = None) -> BulkOperation | None:
        """Take the first operation that is due and that nobody works on, for as long as the lease. ``only``: its id."""
        now = now or self.now()
        due = self._due_bulk(now).order_by("id")
        for operation in (due if only is None else due.filter(pk=only))[:20]:
            free = self.bulk_operations.filter(pk=operation.pk, state__in=UNFINISHED, next_at=operation.next_at)
            lease = now + timedelta(seconds=LEASE_SECONDS)
            if free.update(next_at=lease, state=State.RUNNING, started_at=Coalesce("started_at", now)):
                return self.bulk_operations.filter(pk=operation.pk, next_at=lease).first()
        return None

    def find_bulk(self, operation: BulkOperation) -> Found:
        """Return the next tasks of an operation. Looks at no more than ``LOOK`` rows that may not match."""
        selection = Selection.from_json(operation.selection)
        ordering = selection.ordering
        names = orderings.names(ordering)
        # What was emptied by hand has no place in the order.
        rows = self._listed_bulk(operation, selection).filter(
            **{f"{name}__isnull": False for name in names if Task._meta.get_field(name).null}
        )
        if operation.cursor is not None:
            cursor = {name: _loaded(name, operation.cursor[name]) for name in names}
            rows = rows.filter(orderings.behind(ordering, cursor))

        limit = bulk_limit(operation)
        with statement_limit(self.alias, LEASE_SECONDS):
            rows, end = first_of(rows, selection, LOOK)
            found = _places(selection.matching(rows).order_by(*ordering)[:limit], ordering)
        return Found([place["id"] for place in found], found[-1] if len(found) == limit else end)

    @repeated
    def change_bulk(
        self, operation: BulkOperation, found: Found, apply: Apply, *, now: datetime | None = None
    ) -> BulkOperation | None:
        """Change one batch and count it. ``apply``: changes tasks and returns the ids of those that it could change.

        Return the operation as it is then; None: it was stopped, or another worker has it by now, and nothing was done.
        """
        with self.transaction():
            own = self._locked_bulk(pk=operation.pk, state=State.RUNNING, next_at=operation.next_at)
            if own is None:
                return None
            changed = len(self._applied(own, found.ids, apply)) if found.ids else 0
            own.changed += changed
            own.skipped += len(found.ids) - changed
            now = now or self.now()
            if found.end is None or own.changed >= own.most:
                if own.matched <= own.most:  # those that somebody else had changed before we came to them
                    own.skipped = max(own.skipped, own.matched - own.changed)
                self._end_bulk(own, State.DONE, now)
                return own
            own.cursor = {name: _dumped(value) for name, value in found.end.items()}
            # One with a rate is nobody's until its next batch; the others stay with who has them.
            rest = changed * 60 / own.rate if own.rate else LEASE_SECONDS
            own.next_at = now + timedelta(seconds=rest)
            own.save(update_fields=["changed", "skipped", "cursor", "next_at"])
            return own

    @repeated
    def fail_bulk(self, operation: BulkOperation, problem: str) -> None:
        """End an operation that cannot be done."""
        with self.transaction():
            own = self._locked_bulk(pk=operation.pk, state=State.RUNNING, next_at=operation.next_at)
            if own is not None:
                own.problem = shortened(problem, 200)
                self._end_bulk(own, State.FAILED, self.now())

    def _due_bulk(self, now: datetime | None) -> QuerySet[BulkOperation]:
        return self.bulk_operations.filter(state__in=UNFINISHED, next_at__lte=self.time(now))

    def _locked_bulk(self, **which: Any) -> BulkOperation | None:
        return self.bulk_operations.select_for_update().filter(**which).first()

    def _applied(self, operation: BulkOperation, ids: Sequence[int], apply: Apply) -> Sequence[int]:
        """Change the tasks together; if that fails by one of them, one by one, and leave that one out."""
        try:
            with self.transaction():
                return apply(ids)
        except Exception as error:
            if self._is_not_of_a_row(error):
                raise
        changed: list[int] = []
        for task_id in ids:
            try:
                with self.transaction():
                    changed += apply([task_id])
            except Exception as error:
                if self._is_not_of_a_row(error):
                    raise
                problem = masking.mask_text(str(error))
                logger.warning("Bulk operation #%d skips task #%d: %s", operation.pk, task_id, problem)
        return changed

    def _is_not_of_a_row(self, error: Exception) -> bool:
        is_transient = isinstance(error, Error) and self.is_transient(error)
        return is_transient or isinstance(error, (InterfaceError, OperationalError))

    def _end_bulk(self, operation: BulkOperation, state: str, now: datetime) -> None:
        operation.state, operation.finished_at = state, now
        operation.save()
        self.record_activity(
            operation.verb,
            by=operation.user_name,
            source=SOURCE,
            target=f"#{operation.pk}",
            selection=operation.noted,
            matched=operation.matched,
            changed=operation.changed,
            skipped=operation.skipped,
            reason=operation.reason,
        )


def _places(rows: Any, ordering: Sequence[str]) -> list[dict[str, Any]]:
    """Return where tasks are in their order."""
    names = orderings.names(ordering)
    # Not values(): ordered by what they select, times are compared as they are read, which no index holds.
    return [{name: getattr(task, name) for name in names} for task in rows.only("pk", *names)]


def first_of(rows: Any, selection: Selection, most: int) -> tuple[Any, Mapping[str, Any] | None]:
    """Return the first of the rows, and the place of the last one; None: that is all, or all of them match."""
    ordering = selection.ordering
    last = _places(rows[most - 1 : most], ordering) if selection.scans else []
    if not last:
        return rows, None
    [first] = _places(rows[:1], ordering)
    first_ones = rows.filter(orderings.not_beyond(ordering, last[0], first))
    return first_ones.exclude(orderings.behind(ordering, last[0])), last[0]


def bulk_limit(operation: BulkOperation) -> int:
    """Return how many tasks its next batch has."""
    paced = BATCH if operation.rate is None else math.ceil(operation.rate * PACE_SECONDS / 60)
    return max(1, min(BATCH, paced, operation.most - operation.changed))


def _dumped(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _loaded(name: str, value: Any) -> Any:
    """Return a value of a column as it was before it became JSON."""
    return Task._meta.get_field(name).to_python(value)  # type: ignore[union-attr]
