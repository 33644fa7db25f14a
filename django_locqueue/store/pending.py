"""How many tasks of a queue wait, counted no further than is asked for."""

from django_locqueue.models import Task
from django_locqueue.store.base import StoreBase

# The index of limited tasks does not know queues: so many are looked at, or as many as are counted if that is more.
BLOCKED_LOOKED_AT = 10_000

_TABLE = Task._meta.db_table
# Each LIMIT is inside, so that none reads on. The ORDER BY is that of the index of ready tasks, so that no planner
# sorts. The second has none: with the statistics of an empty table PostgreSQL would collect all that is limited, and
# sort it.
_PENDING = f"""
SELECT
  (SELECT COUNT(*) FROM (
    SELECT id FROM {_TABLE} WHERE state = 'ready' AND queue_name = %s
    ORDER BY queue_name, priority DESC, run_after, id LIMIT %s
  ) AS ready),
  (SELECT COUNT(*) FROM (
    SELECT queue_name FROM {_TABLE} WHERE limit_key IS NOT NULL AND state = 'blocked' LIMIT %s
  ) AS limited WHERE queue_name = %s)
"""


class CountingPending(StoreBase):
    def count_pending(self, queue_name: str, most: int) -> int:
        """Return how many tasks of a queue could start now or wait under a limit; ``most`` if there are more.

        Of the latter only those among the first ``BLOCKED_LOOKED_AT`` of all queues are seen.
        """
        looked_at = max(most, BLOCKED_LOOKED_AT)
        [(ready, blocked)] = self.fetch(_PENDING, [queue_name, most, looked_at, queue_name])
        return int(min(most, ready + blocked))
