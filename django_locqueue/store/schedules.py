"""The rows of schedules: what is due, and that each slot is enqueued once."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from django_locqueue import clock
from django_locqueue.models import BulkOperation, Schedule, ScheduleRun, Task
from django_locqueue.policies.outcome import MESSAGE_LENGTH, shortened
from django_locqueue.store.base import StoreBase, repeated

TABLE = Schedule._meta.db_table
TASKS = Task._meta.db_table
BULK = BulkOperation._meta.db_table
BATCH = 100  # schedules that are looked up at once
RUNS_KEPT = 500  # of each schedule
PRUNED_EVERY = 50  # runs
RULE = ("cron", "every", "timezone")


class Ahead(NamedTuple):
    """Seconds until the next scheduled task and the next slot of a schedule are due (≤ 0: overdue); None: no such.

    ``is_bulk_due``: whether a bulk operation waits for a worker, by the database's time.
    """

    task: float | None
    slot: float | None
    is_bulk_due: bool


class Synced(NamedTuple):
    """Names of schedules: what changed when the rows were brought in line with the code."""

    added: list[str]
    changed: list[str]
    removed: list[str]


def _any_bulk(connection: Any, state: str) -> str:
    """Return SQL that finds a bulk operation in a state that is due."""
    due = f"state = '{state}' AND next_at <= {clock.now_sql(connection)}"
    return f"(SELECT id FROM {BULK} WHERE {due} LIMIT 1)"


class Scheduling(StoreBase):
    @property
    def schedules(self) -> QuerySet[Schedule]:
        return QuerySet(Schedule, using=self.alias)

    @property
    def schedule_runs(self) -> QuerySet[ScheduleRun]:
        return QuerySet(ScheduleRun, using=self.alias)

    def next_due(self, *, now: datetime | None = None) -> float | None:
        """Return the seconds until the next scheduled task is due (≤ 0: overdue); None if there is none."""
        [(due_at, task, database_now)] = self.fetch(f"SELECT {self._due_sql()}, {clock.now_sql(self.connection)}", ())
        return self._seconds_until(due_at, task is not None and due_at is None, database_now, now)

    def next_slot_in(self, *, but: Collection[int] = (), now: datetime | None = None) -> float | None:
        """Return the seconds until the next slot of all schedules (≤ 0: it has come); None if there is none.

        ``but``: ids of schedules that do not count.
        """
        sql = f"SELECT {self._next_sql(but)}, {clock.now_sql(self.connection)}"
        [(next_at, unplanned, database_now)] = self.fetch(sql, ())
        return self._seconds_until(next_at, unplanned is not None, database_now, now)

    def look_ahead(self, *, but: Collection[int] = (), now: datetime | None = None) -> Ahead:
        """Return what :meth:`next_due` and :meth:`next_slot_in` do, by one statement: workers ask it each second."""
        sql = (
            f"SELECT {self._due_sql()}, {self._next_sql(but)}, "
            f"{_any_bulk(self.connection, 'waiting')}, {_any_bulk(self.connection, 'running')}, "
            f"{clock.now_sql(self.connection)}"
        )
        [(due_at, task, next_at, unplanned, waiting, running, database_now)] = self.fetch(sql, ())
        return Ahead(
            task=self._seconds_until(due_at, task is not None and due_at is None, database_now, now),
            slot=self._seconds_until(next_at, unplanned is not None, database_now, now),
            is_bulk_due=waiting is not None or running is not None,
        )

    def _due_sql(self) -> str:
        run_after = clock.bounded_sql(self.connection, f"{TASKS}.run_after")
        first = f"FROM {TASKS} WHERE state = 'scheduled' ORDER BY {TASKS}.run_after, {TASKS}.id LIMIT 1"
        return f"(SELECT {run_after} {first}), (SELECT id {first})"

    def _next_sql(self, but: Collection[int]) -> str:
        # The columns with their table's name: PostgreSQL calls a CASE by its last column, and would sort by it.
        first = clock.bounded_sql(self.connection, f"{TABLE}.next_at")
        return (
            f"(SELECT {first} {_running(but)} IS NOT NULL ORDER BY {TABLE}.next_at LIMIT 1), "
            f"(SELECT id {_running(but)} IS NULL LIMIT 1)"
        )

    def _seconds_until(self, at: Any, is_timeless: bool, database_now: Any, now: datetime | None) -> float | None:
        """``is_timeless``: there is a row without a time, edited by hand or not planned yet, and so it is due."""
        load: Any = self.load_time
        if not is_timeless and at is None:
            return None
        if is_timeless or (first := load(at)) is None:
            return 0.0
        present = load(database_now) if now is None else clock.storable(now)
        return float((first - present).total_seconds())

    def due_schedules(self, *, but: Collection[int] = (), now: datetime | None = None) -> list[int]:
        """Return the ids of schedules whose slot has come, the oldest first, and of those whose next is not known."""
        time, params = self.now_sql(now)
        due = f"SELECT id {_running(but)} <= {time} ORDER BY {TABLE}.next_at LIMIT {BATCH}"
        unplanned = f"SELECT id {_running(but)} IS NULL LIMIT {BATCH}"
        return [pk for sql, given in ((unplanned, ()), (due, params)) for (pk,) in self.fetch(sql, given)]

    @contextmanager
    def locked_schedule(self, pk: int, *, now: datetime | None = None) -> Iterator[tuple[Schedule, datetime] | None]:
        """Lock a schedule that is due, and give it with the present time; None where another has it, or has served it.

        What is written within is one transaction: the slot's row and its task are stored together or not at all.
        """
        time = self.time(now)
        with self.transaction():
            due = self.schedules.filter(Q(next_at=None) | Q(next_at__lte=time), pk=pk, enabled=True)
            schedule = due.select_for_update(skip_locked=True).first()
            yield None if schedule is None else (schedule, self.moment(now))

    def slots_taken(self, schedule_id: int, slots: Sequence[datetime]) -> set[datetime]:
        """Return those of the slots that were run before."""
        return set(self.schedule_runs.filter(schedule=schedule_id, slot__in=slots).values_list("slot", flat=True))

    def add_schedule_run(
        self, schedule_id: int, slot: datetime, *, task_id: int | None, problem: str = "", started_by: str = ""
    ) -> None:
        """Note that a slot was enqueued, or why it could not be."""
        run = ScheduleRun(
            schedule_id=schedule_id,
            slot=slot,
            task_id=task_id,
            problem=shortened(problem, MESSAGE_LENGTH),
            started_by=shortened(started_by, 150),
        )
        run.save(using=self.alias, force_insert=True)
        if run.pk % PRUNED_EVERY == 0:
            self._prune_runs(schedule_id)

    def _prune_runs(self, schedule_id: int) -> None:
        runs = self.schedule_runs.filter(schedule=schedule_id).order_by("-slot")
        if oldest := runs.values_list("slot", flat=True)[RUNS_KEPT : RUNS_KEPT + 1].first():
            self.schedule_runs.filter(schedule=schedule_id, slot__lte=oldest)._raw_delete(self.alias)

    @repeated
    def change_schedule(self, pk: int, columns: Mapping[str, Any]) -> bool:
        """Write columns of a schedule. False: it is gone."""
        changes = dict(columns)
        if "problem" in changes:
            changes["problem"] = shortened(changes["problem"], MESSAGE_LENGTH)
        return bool(self.schedules.filter(pk=pk).update(**changes))

    @repeated
    def save_schedule(self, pk: int | None, columns: Mapping[str, Any]) -> Schedule:
        """Make a schedule, or write all of one that a person has made."""
        if pk is not None and self.schedules.filter(pk=pk).update(**columns):
            return self.schedules.get(pk=pk)
        return self.schedules.create(**columns)

    @repeated
    def delete_schedule(self, pk: int) -> bool:
        """Delete a schedule and the list of its runs; their tasks stay."""
        with self.transaction():
            self.schedule_runs.filter(schedule=pk)._raw_delete(self.alias)
            return bool(self.schedules.filter(pk=pk)._raw_delete(self.alias))

    @repeated
    def sync_schedules(self, defined: Mapping[str, Mapping[str, Any]], next_at: Mapping[str, datetime]) -> Synced:
        """Bring the rows in line with the schedules that stand in code: columns by name, and the next slot of each.

        Any process may do this at any time. What a person has switched off stays off until its definition changes.
        """
        if not self._differs(defined):
            return Synced([], [], [])
        code = Schedule.Source.CODE
        with self.transaction():
            rows = {row.name: row for row in self._defined_rows(defined).order_by("pk").select_for_update()}
            missing = [name for name in defined if name not in rows]
            self.schedules.bulk_create(
                [Schedule(name=name, source=code, next_at=next_at[name], **defined[name]) for name in missing],
                ignore_conflicts=True,  # another process has made it just now
            )
            changed = [name for name, row in rows.items() if name in defined and _has_changed(row, defined[name])]
            for name in changed:
                again: dict[str, Any] = {"source": code, "enabled": True, "removed_at": None, "problem": ""}
                if not rows[name].enabled or _differ(rows[name], defined[name], RULE):
                    again["next_at"] = next_at[name]  # else what is due now, or was missed, still is
                self.schedules.filter(pk=rows[name].pk).update(**defined[name], **again)
            removed = [row for name, row in rows.items() if name not in defined and row.removed_at is None]
            self.schedules.filter(pk__in=[row.pk for row in removed]).update(
                enabled=False, removed_at=self.time(None), next_at=None
            )
            return Synced(missing, changed, [row.name for row in removed])

    def _defined_rows(self, defined: Mapping[str, Any]) -> QuerySet[Schedule]:
        return self.schedules.filter(Q(source=Schedule.Source.CODE) | Q(name__in=list(defined)))

    def _differs(self, defined: Mapping[str, Mapping[str, Any]]) -> bool:
        rows = {row.name: row for row in self._defined_rows(defined)}
        return any(name not in rows or _has_changed(rows[name], columns) for name, columns in defined.items()) or any(
            name not in defined and row.removed_at is None for name, row in rows.items()
        )


def _running(but: Collection[int]) -> str:
    """Return SQL up to the column ``next_at``, of which a condition follows: the beginning of the index."""
    # `enabled = TRUE`, and not what the ORM writes, `enabled` alone: SQLite finds no index for that.
    others = f"id NOT IN ({', '.join(str(int(pk)) for pk in but)}) AND " if but else ""
    return f"FROM {TABLE} WHERE {others}enabled = TRUE AND {TABLE}.next_at"


def _has_changed(row: Schedule, columns: Mapping[str, Any]) -> bool:
    if row.source != Schedule.Source.CODE or row.removed_at is not None:
        return True
    return _differ(row, columns, columns)


def _differ(row: Schedule, columns: Mapping[str, Any], names: Iterable[str]) -> bool:
    return any(getattr(row, name) != columns[name] for name in names)
