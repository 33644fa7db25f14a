"""Lines: the tasks of a queue that wait under one limit key. Which there are, and who stands in one."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from django_locqueue import clock
from django_locqueue.policies.terms import WITH_CONCURRENCY, Terms, load_terms
from django_locqueue.store.limit_rows import LIMITS
from django_locqueue.store.queues import QueueKeeping
from django_locqueue.store.serve import IN_QUEUE, TABLE

_ORDER = "ORDER BY queue_name, limit_key, priority DESC, run_after, id"
_NEXT_KEY = "ORDER BY limit_key, priority DESC, run_after, id"
_KEY_AFTER = f"SELECT limit_key FROM {TABLE} WHERE state = 'blocked' AND queue_name = %s AND limit_key > "

# To be asked only where a number of running tasks is the limit: thousands may run under a rate.
_RUNNING = f"SELECT COUNT(*) FROM {TABLE} WHERE state = 'running' AND limit_key ="

# Skip scans, as in `serve`: from queue to queue, and in a queue from key to key, each step one entry of the index. A
# hundred thousand tasks in a line cost no more than one.
_QUEUES = f"""
WITH RECURSIVE queue (name) AS (
  SELECT (SELECT queue_name FROM {TABLE} WHERE state = 'blocked' AND limit_key IS NOT NULL {_ORDER} LIMIT 1)
  UNION ALL
  SELECT (SELECT queue_name FROM {TABLE} WHERE state = 'blocked' AND limit_key IS NOT NULL AND queue_name > queue.name
    {_ORDER} LIMIT 1)
  FROM queue WHERE queue.name IS NOT NULL
)
SELECT name FROM queue
WHERE name IS NOT NULL AND name NOT IN (SELECT name FROM locqueue_queue WHERE {{paused}})
"""
_KEYS = f"""
WITH RECURSIVE line (name, place) AS (
  SELECT ({_KEY_AFTER} %s {_NEXT_KEY} LIMIT 1), 1
  UNION ALL
  SELECT ({_KEY_AFTER} line.name {_NEXT_KEY} LIMIT 1), place + 1 FROM line WHERE line.name IS NOT NULL AND place < %s
)
"""
_LINES = f"""{_KEYS}
SELECT name, terms,
  CASE WHEN terms LIKE '%%{WITH_CONCURRENCY}%%' THEN ({_RUNNING} name) ELSE 0 END,
  (SELECT next_at FROM {LIMITS} WHERE {LIMITS}.key = name),
  {{now}}
FROM (
  SELECT name,
    (SELECT terms FROM {{by_line}} WHERE state = 'blocked' AND queue_name = %s AND limit_key = name {IN_QUEUE} LIMIT 1)
    AS terms
  FROM line WHERE name IS NOT NULL
) AS head
"""
_WAITING = f"""
SELECT id, task_path, terms, run_after
FROM {{by_line}} WHERE state = 'blocked' AND queue_name = %s AND limit_key = %s
  AND NOT EXISTS (SELECT 1 FROM locqueue_queue WHERE name = %s AND {{paused}})
{IN_QUEUE} LIMIT %s
"""


class Line(NamedTuple):
    queue_name: str
    limit_key: str


class FirstOfLine(NamedTuple):
    """``terms``: the first task's. ``running``: how many run under the key, 0 where no terms ask for it.

    ``wait``: seconds until a turn may come.
    """

    line: Line
    terms: Terms
    running: int
    wait: float


class Waiting(NamedTuple):
    """A task in a line."""

    id: int
    task_path: str
    terms: str | None
    run_after: datetime


class LineReading(QueueKeeping):
    by_line = TABLE  # to be read by the index of lines

    def limited_queues(self, *, now: datetime | None = None) -> list[str]:
        """Return the queues that have lines and are not paused, as the database sorts them."""
        paused, params = self.paused_sql(now)
        return [name for (name,) in self.fetch_recursive(_QUEUES.format(paused=paused), params)]

    def queues_behind(
        self, after: Line | None, queues: Collection[str], exclude_queues: Collection[str], now: datetime | None
    ) -> Iterator[tuple[str, str]]:
        """Yield the queues from that of ``after`` on, each with the key behind which its lines are to be looked at."""
        names = [n for n in self.limited_queues(now=now) if (not queues or n in queues) and n not in exclude_queues]
        # Found by its place and not by comparing: each database sorts names in its own way.
        if after is not None and after.queue_name in names:
            names = names[names.index(after.queue_name) + 1 :]
            yield after.queue_name, after.limit_key
        for name in names:
            yield name, ""

    def lines(self, queue_name: str, key: str, most: int, *, now: datetime | None = None) -> list[FirstOfLine]:
        """Return up to ``most`` lines of a queue that come behind a key."""
        sql = _LINES.format(now=clock.now_sql(self.connection), by_line=self.by_line)
        rows = self.fetch(sql, [queue_name, key, queue_name, most, queue_name])
        load = self.load_time
        found = []
        for name, terms, running, next_at, at in rows:
            present = load(at) if now is None else clock.storable(now)
            wait = 0.0 if next_at is None else (load(next_at) - present).total_seconds()
            found.append(FirstOfLine(Line(queue_name, name), load_terms(terms), running, wait))
        return found

    def line_keys(self, queue_name: str, key: str, most: int) -> list[str]:
        """Return up to ``most`` keys of a queue's lines that come behind a key, whatever their rows hold."""
        sql = f"{_KEYS} SELECT name FROM line WHERE name IS NOT NULL"
        return [name for (name,) in self.fetch(sql, [queue_name, key, queue_name, most])]

    def waiting_in(self, line: Line, most: int, *, now: datetime | None = None) -> list[Waiting]:
        """Return the first of a line; none if its queue is paused."""
        queue_name, key = line
        paused, params = self.paused_sql(now)
        rows = self.fetch(
            _WAITING.format(paused=paused, by_line=self.by_line), [queue_name, key, queue_name, *params, most]
        )
        load: Any = self.load_time
        return [Waiting(id, path, terms, load(run_after)) for id, path, terms, run_after in rows]

    def running_under(self, key: str) -> int:
        """Return how many tasks run under a limit key."""
        [(running,)] = self.fetch(f"{_RUNNING} %s", [key])
        return int(running)
