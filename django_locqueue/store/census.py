"""How many tasks there are in which state, now: a fixed number of statements, none of which reads on without end."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django_locqueue import clock
from django_locqueue.models import Schedule, Task, orderings
from django_locqueue.models.indexes import IsOpen
from django_locqueue.store.base import StoreBase

MOST_PRIORITIES = 100  # of a queue, that are looked at for what has waited longest
LATE_SECONDS = 60

_TABLE = Task._meta.db_table
_SCHEDULES = Schedule._meta.db_table
_READY = orderings.order_by(orderings.READY)
_IN_QUEUE = f"{orderings.order_by(orderings.READY[1:])} LIMIT 1"  # see `serve`
_LIMITED = orderings.order_by(orderings.LIMITED)
_NEWEST = orderings.order_by(orderings.NEWEST)
_FINISHED = orderings.order_by(orderings.FINISHED)
_SOONEST = orderings.order_by(orderings.SCHEDULED)
_BY_WORKER = orderings.order_by(orderings.RUNNING)
_IS_LIMITED = "state = 'blocked' AND limit_key IS NOT NULL"
# Nobody could claim it before it was there, whatever time its caller wrote.
_SINCE = "CASE WHEN run_after > enqueued_at THEN run_after ELSE enqueued_at END"

# Skip scans, as in `serve`: from queue to queue, and in a queue from priority to priority. What has waited longest is
# the first of one of them, and under a steady load of what is urgent it is not of the highest.
_WAITING = f"""
WITH RECURSIVE queue (name) AS (
  SELECT (SELECT queue_name FROM {_TABLE} WHERE state = 'ready' {_READY} LIMIT 1)
  UNION ALL
  SELECT (SELECT queue_name FROM {_TABLE} WHERE state = 'ready' AND queue_name > queue.name {_READY} LIMIT 1)
  FROM queue WHERE queue.name IS NOT NULL
), step (name, priority, place) AS (
  SELECT name, (SELECT priority FROM {_TABLE} WHERE state = 'ready' AND queue_name = queue.name {_IN_QUEUE}), 1
  FROM queue WHERE queue.name IS NOT NULL
  UNION ALL
  SELECT name, (SELECT priority FROM {_TABLE}
    WHERE state = 'ready' AND queue_name = step.name AND priority < step.priority {_IN_QUEUE}), place + 1
  FROM step WHERE step.priority IS NOT NULL AND place < {MOST_PRIORITIES}
), line (name) AS (
  SELECT (SELECT queue_name FROM {_TABLE} WHERE {_IS_LIMITED} {_LIMITED} LIMIT 1)
  UNION ALL
  SELECT (SELECT queue_name FROM {_TABLE} WHERE {_IS_LIMITED} AND queue_name > line.name {_LIMITED} LIMIT 1)
  FROM line WHERE line.name IS NOT NULL
)
SELECT name, {{run_after}} FROM (
  SELECT name, (SELECT {_SINCE} FROM {_TABLE}
    WHERE state = 'ready' AND queue_name = step.name AND priority = step.priority
    ORDER BY run_after, id LIMIT 1) AS run_after
  FROM step WHERE priority IS NOT NULL
) AS first
UNION ALL
SELECT name, NULL FROM line WHERE name IS NOT NULL
"""
_SCHEDULED = f"""
SELECT queue_name, unknown_path, COUNT(*), SUM(is_retry), MIN(due_at), MIN(retry_at) FROM (
  SELECT queue_name, {{run_after}} AS due_at,
    CASE WHEN unknown_since IS NOT NULL THEN task_path END AS unknown_path,
    CASE WHEN attempt >= 1 THEN 1 ELSE 0 END AS is_retry,
    CASE WHEN attempt >= 1 THEN {{run_after}} END AS retry_at
  FROM {_TABLE} WHERE state = 'scheduled' {_SOONEST} LIMIT %s
) AS first GROUP BY queue_name, unknown_path
"""
_RUNNING = f"""
SELECT worker_id, id, task_path, queue_name, {{last_attempted_at}}
FROM {_TABLE} WHERE state = 'running' {_BY_WORKER} LIMIT %s
"""
_FAILED = f"""
SELECT queue_name, SUM(is_of_day), SUM(is_of_hour) FROM (
  SELECT queue_name,
    CASE WHEN finished_at > %s THEN 1 ELSE 0 END AS is_of_day,
    CASE WHEN finished_at > %s THEN 1 ELSE 0 END AS is_of_hour
  FROM {_TABLE} WHERE state = 'failed' {_FINISHED} LIMIT %s
) AS latest GROUP BY queue_name
"""


class Waiting(NamedTuple):
    """A queue that has ready tasks or limited ones. ``oldest``: since when one of the ready waits, if there is any."""

    queue_name: str
    oldest: datetime | None


class Counted(NamedTuple):
    """``ready``, ``limited``: by queue. ``schedules``: how many are on; ``late``: of these, whose time is long over."""

    ready: dict[str, int]
    limited: dict[str, int]
    all_ready: int
    retried: int
    failed: int  # that nobody has dismissed
    schedules: int
    late_schedules: int


class Scheduled(NamedTuple):
    """Scheduled tasks of a queue, the first that are due. ``unknown_path``: what no worker finds; None: all others."""

    queue_name: str
    unknown_path: str | None
    tasks: int
    retrying: int
    next_at: datetime
    next_retry_at: datetime | None


class Running(NamedTuple):
    worker_id: int | None
    id: int
    path: str
    queue_name: str
    started_at: datetime


class Failed(NamedTuple):
    """Failed tasks of a queue, of the latest; also those that were dismissed."""

    queue_name: str
    of_day: int
    of_hour: int


class Census:
    """Takes ``most`` of each kind: a number that is as large means that there may be more."""

    def __init__(self, store: StoreBase, most: int) -> None:
        self.store = store
        self.most = most

    def _bounded(self, sql: str) -> str:
        """Return a statement in which some columns were in braces: times that a person may have written."""
        bounded = {name: clock.bounded_sql(self.store.connection, name) for name in ("run_after", "last_attempted_at")}
        return sql.format(**bounded)

    def waiting(self) -> list[Waiting]:
        """Return the queues in which tasks could start or wait for their turn, each once."""
        oldest: dict[str, datetime | None] = {}
        load = self.store.load_time
        for name, at in self.store.fetch_recursive(self._bounded(_WAITING), ()):
            found, known = load(at), oldest.get(name)
            oldest[name] = found if known is None or (found is not None and found < known) else known
        return [Waiting(name, at) for name, at in oldest.items()]

    def counted(self, names: Sequence[str], now: datetime) -> Counted:
        """Count in these queues what waits, and what has no queue. ``now``: the database's time."""
        parts, params = [], []
        for condition, order in (("state = 'ready'", _READY), (_IS_LIMITED, _LIMITED)):
            for name in names:
                parts.append(self._capped(f"{condition} AND queue_name = %s", order))
                params += [name, self.most]
        parts += [
            self._capped("state = 'ready'", _READY),
            self._capped("attempt > 1", _NEWEST),
            self._capped(IsOpen.sql(self.store.connection.vendor), _FINISHED),
            f"(SELECT COUNT(*) FROM {_SCHEDULES} WHERE enabled)",
            f"(SELECT COUNT(*) FROM {_SCHEDULES} WHERE enabled AND problem = '' AND next_at < %s)",
        ]
        params += [self.most] * 3 + [self.store.dump_time(now - timedelta(seconds=LATE_SECONDS))]
        [row] = self.store.fetch(f"SELECT {', '.join(parts)}", params)
        count = len(names)
        ready, limited = row[:count], row[count : 2 * count]
        return Counted(dict(zip(names, ready, strict=True)), dict(zip(names, limited, strict=True)), *row[2 * count :])

    def scheduled(self) -> list[Scheduled]:
        load = self.store.load_time
        rows = self.store.fetch(self._bounded(_SCHEDULED), [self.most])
        return [
            Scheduled(name, path, int(count), int(retrying), load(next_at), load(retry_at))
            for name, path, count, retrying, next_at, retry_at in rows
        ]

    def running(self) -> list[Running]:
        load: Any = self.store.load_time
        rows = self.store.fetch(self._bounded(_RUNNING), [self.most])
        return [Running(worker, id, path, name, load(at)) for worker, id, path, name, at in rows]

    def failed(self, now: datetime) -> list[Failed]:
        dump = self.store.dump_time
        params = [dump(now - timedelta(days=1)), dump(now - timedelta(hours=1)), self.most]
        return [Failed(name, *map(int, counts)) for name, *counts in self.store.fetch(_FAILED, params)]

    def _capped(self, where: str, order: str) -> str:
        # The LIMIT is inside, so that it does not read on. The order is that of the index, since PostgreSQL may scan
        # the table otherwise; MySQL takes the index without it, and with it may sort.
        order = "" if self.store.connection.vendor == "mysql" else order
        return f"(SELECT COUNT(*) FROM (SELECT id FROM {_TABLE} WHERE {where} {order} LIMIT %s) AS counted)"
