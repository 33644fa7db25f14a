"""The counts of what has ended: a value that grows in memory, and rows that workers add it to and maintenance prunes.

Each statement is a transaction of its own, so no lock on a row that all workers add to outlives a round trip: a worker
that stands still in the midst of it holds up nobody. The rows of a statement stand in one order, everywhere.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from django.db import models
from django.db.models import OuterRef, Subquery

from django_locqueue import clock
from django_locqueue.models import ErrorCount, ErrorGroup, TaskStat, orderings
from django_locqueue.models.end_counts import QUIET
from django_locqueue.policies.fingerprint import PLACE_LENGTH, ErrorKind, Place
from django_locqueue.policies.histogram import BINS
from django_locqueue.policies.outcome import shortened
from django_locqueue.store.base import repeated
from django_locqueue.store.recover import BATCH, Recovering

SPANS = (TaskStat.MINUTE, TaskStat.HOUR, TaskStat.DAY)
HOUR = TaskStat.HOUR

# What a row adds up, as a list in this order, since an index into a list is the quickest there is.
COLUMNS = (
    *TaskStat.COUNTS,
    *("wait_seconds", "run_seconds"),
    *(f"{what}_{number}" for what in ("wait", "run") for number in range(BINS)),
)
SUCCEEDED, FAILED, RETRIED, CANCELLED, WAIT, RUN, WAIT_BINS = range(7)
RUN_BINS = WAIT_BINS + BINS
NOTHING = (0, 0, 0, 0, 0.0, 0.0, *(0 for _ in range(2 * BINS)))

ROWS = 100  # of a statement
KEPT = {
    TaskStat.MINUTE: timedelta(hours=48),
    TaskStat.HOUR: timedelta(days=30),
    TaskStat.DAY: timedelta(days=400),
}
ERRORS_KEPT = timedelta(days=90)

StatKey = tuple[int, float, str, str]  # seconds, start as a timestamp, queue, task path
Sums = list[float]


@dataclass(slots=True)
class Failures:
    """Of one kind. Times are timestamps. ``task_path``, ``place``: of the last."""

    kind: ErrorKind
    first: float
    last: float
    count: int
    task_path: str
    place: Place | None

    def add(self, other: "Failures") -> None:
        if other.last >= self.last:
            self.task_path, self.place = other.task_path, other.place
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.count += other.count


@dataclass(slots=True)
class EndCounts:
    """``Store.add_end_counts`` takes out of it what it has written, so that a failure leaves the rest."""

    stats: dict[StatKey, Sums] = field(default_factory=dict)
    groups: dict[str, Failures] = field(default_factory=dict)  # by fingerprint
    hours: dict[tuple[str, float], int] = field(default_factory=dict)  # by fingerprint and start as a timestamp

    def __bool__(self) -> bool:
        return bool(self.stats or self.groups or self.hours)

    def __len__(self) -> int:
        """How many rows it concerns."""
        return len(self.stats) + len(self.groups) + len(self.hours)

    def add(self, at: float, queue_name: str, task_path: str, sums: Sequence[float]) -> None:
        """Count what ended at ``at``, a timestamp of the database's clock."""
        for seconds in SPANS:
            self._add_sums((seconds, at // seconds * seconds, queue_name, task_path), sums)

    def add_one(self, at: float, queue_name: str, task_path: str, column: int) -> None:
        """Count one attempt of which nobody knows how long it waited and ran."""
        sums = list(NOTHING)
        sums[column] = 1
        self.add(at, queue_name, task_path, sums)

    def add_failures(self, failures: Failures) -> None:
        self._add_group(failures)
        self._add_hour((failures.kind.fingerprint, failures.last // HOUR * HOUR), failures.count)

    def merge(self, others: "EndCounts") -> None:
        for key, sums in others.stats.items():
            self._add_sums(key, sums)
        for failures in others.groups.values():
            self._add_group(failures)
        for hour, count in others.hours.items():
            self._add_hour(hour, count)

    def drop(self, most: int) -> int:
        """Forget the oldest rows above ``most``; return how many."""
        rows: list[tuple[float, dict[Any, Any], Any]] = [
            *((key[1], self.stats, key) for key in self.stats),
            *((failures.first, self.groups, key) for key, failures in self.groups.items()),
            *((key[1], self.hours, key) for key in self.hours),
        ]
        oldest = sorted(rows, key=itemgetter(0))[: max(0, len(rows) - most)]
        for _, part, key in oldest:
            del part[key]
        return len(oldest)

    def _add_sums(self, key: StatKey, sums: Sequence[float]) -> None:
        known = self.stats.get(key)
        self.stats[key] = list(sums) if known is None else [old + new for old, new in zip(known, sums, strict=True)]

    def _add_group(self, failures: Failures) -> None:
        known = self.groups.get(failures.kind.fingerprint)
        if known is None:
            self.groups[failures.kind.fingerprint] = replace(failures)
        else:
            known.add(failures)

    def _add_hour(self, hour: tuple[str, float], count: int) -> None:
        self.hours[hour] = self.hours.get(hour, 0) + count


class KeepingCounts(Recovering):
    def add_end_counts(self, counts: EndCounts) -> None:
        """Add to the counts, and take out of ``counts`` what has been added.

        What a lost connection keeps silent about is added again by who tries again: rather twice than never.
        """
        sorts: tuple[tuple[dict[Any, Any], Callable[[Any], None]], ...] = (
            (counts.stats, self._add_stats),
            (counts.groups, self._add_groups),
            (counts.hours, self._add_hours),
        )
        for rows, add in sorts:
            keys = sorted(rows)
            for start in range(0, len(keys), ROWS):
                part = keys[start : start + ROWS]
                add({key: rows[key] for key in part})
                for key in part:
                    del rows[key]

    @repeated
    def _add_stats(self, stats: Mapping[StatKey, Sums]) -> None:
        keys = ("seconds", "start", "queue_name", "task_path")
        rows = _summed(
            ((seconds, self._time_of(start), *names), sums) for (seconds, start, *names), sums in stats.items()
        )
        self._upsert(TaskStat, keys, rows, COLUMNS, dict.fromkeys(COLUMNS, "{old} + {new}"))

    @repeated
    def _add_groups(self, groups: Mapping[str, Failures]) -> None:
        rows = [
            [
                *(each.kind.fingerprint, each.kind.error_class, each.kind.message),
                shortened(str(each.place or ""), PLACE_LENGTH),
                *(each.task_path, self._time_of(each.first), self._time_of(each.last), each.count),
            ]
            for each in groups.values()
        ]
        columns = ("error_class", "message", "place", "task_path", "first_seen", "last_seen", "total")
        # MySQL sets one after the other: what asks for the old last_seen comes before it is set.
        changes = {
            "back_at": f"CASE WHEN {ErrorGroup._meta.db_table}.last_seen <= %s THEN {{first_seen}} ELSE {{old}} END",
            "last_seen": "CASE WHEN {new} > {old} THEN {new} ELSE {old} END",
            "place": "{new}",
            "task_path": "{new}",
            "total": "{old} + {new}",
        }
        quiet_since = self._time_of(min(each.first for each in groups.values()) - QUIET.total_seconds())
        self._upsert(ErrorGroup, ("fingerprint",), rows, columns, changes, [quiet_since])

    @repeated
    def _add_hours(self, hours: Mapping[tuple[str, float], int]) -> None:
        rows = _summed(((kind, self._time_of(hour)), [count]) for (kind, hour), count in hours.items())
        self._upsert(ErrorCount, ("group_id", "hour"), rows, ("count",), {"count": "{old} + {new}"})

    def _time_of(self, timestamp: float) -> Any:
        return self.dump_time(clock.from_timestamp(timestamp))

    def _upsert(
        self,
        model: type[models.Model],
        keys: Sequence[str],
        rows: Sequence[Sequence[Any]],
        columns: Sequence[str],
        changes: Mapping[str, str],
        params: Sequence[Any] = (),
    ) -> None:
        """Insert rows, or change those that are there.

        ``changes``: SQL by column, with ``{old}`` and ``{new}`` for its values and ``{name}`` for the new value of
        another; ``params``: of that SQL.
        """
        quote, table = self.connection.ops.quote_name, model._meta.db_table
        names = (*keys, *columns)
        new = {name: self.new_value_sql.format(quote(name)) for name in names}
        sets = ", ".join(
            f"{quote(name)} = {sql.format(**new, old=f'{table}.{quote(name)}', new=new.get(name))}"
            for name, sql in changes.items()
        )
        row = f"({', '.join(['%s'] * len(names))})"
        with self.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} ({', '.join(map(quote, names))}) VALUES {', '.join([row] * len(rows))} "
                f"{self.on_conflict_sql.format(', '.join(map(quote, keys)))} {sets}",
                [*(value for each in rows for value in each), *params],
            )

    new_value_sql = "EXCLUDED.{}"
    on_conflict_sql = "ON CONFLICT ({}) DO UPDATE SET"

    def prune_end_counts(self, *, limit: int = BATCH, now: datetime | None = None) -> int:
        """Delete old counts, and kinds of errors that are met no more and that no task of the failed list is of.

        Return the most that were deleted of one sort: at ``limit`` there may be more.
        """
        time = self.time(now)
        stats, counts, groups = (model.objects.using(self.alias).all() for model in (TaskStat, ErrorCount, ErrorGroup))
        failed = orderings.in_error_index(self.tasks, OuterRef("pk")).order_by(*orderings.FINISHED)
        # Not by Exists: of that PostgreSQL makes a join, for which it may read all that has failed.
        silent = groups.filter(last_seen__lt=time - ERRORS_KEPT).alias(first=Subquery(failed.values("pk")[:1]))
        old = [
            *(
                stats.filter(seconds=seconds, start__lt=time - kept).order_by("seconds", "start")
                for seconds, kept in KEPT.items()
            ),
            counts.filter(hour__lt=time - ERRORS_KEPT).order_by("hour"),
            silent.filter(first=None).order_by("-last_seen"),
        ]
        return max(self._prune_rows(rows, limit) for rows in old)

    @repeated
    def _prune_rows(self, rows: models.QuerySet[Any], limit: int) -> int:
        ids = list(rows.values_list("pk", flat=True)[:limit])
        # In the order of their keys, as who else deletes them.
        return self._delete_by(rows.model, rows.model._meta.pk.column, sorted(ids), "PRIMARY") if ids else 0


def _summed(sums: Iterable[tuple[tuple[Any, ...], Sequence[float]]]) -> list[list[Any]]:
    """Return a row for each key: without ``USE_TZ``, two hours of a year have the same name."""
    rows: dict[tuple[Any, ...], Sequence[float]] = {}
    for key, more in sums:
        rows[key] = [old + new for old, new in zip(rows[key], more, strict=True)] if key in rows else more
    return [[*key, *found] for key, found in rows.items()]
