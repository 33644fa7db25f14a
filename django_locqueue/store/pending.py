"""How many tasks of a queue wait, counted no further than is asked for."""

from django_locqueue.models import Task
from django_locqueue.store.base import StoreBase

_TABLE = Task._meta.db_table
# Each LIMIT is inside, so that none reads on, and each ORDER BY is that of an index, so that no planner sorts.
_PENDING = f"""
SELECT
  (SELECT COUNT(*) FROM (
    SELECT id FROM {_TABLE} WHERE state = 'ready' AND queue_name = %s
    ORDER BY priority DESC, run_after, id LIMIT %s
  ) AS ready),
  (SELECT COUNT(*) FROM (
    SELECT id FROM {_TABLE} WHERE state = 'blocked' AND limit_key IS NOT NULL AND queue_name = %s
    ORDER BY limit_key, priority DESC, run_after, id LIMIT %s
  ) AS limited)
"""


class CountingPending(StoreBase):
    def count_pending(self, queue_name: str, most: int) -> int:
        """Return how many tasks of a queue could start now or wait under a limit; ``most`` if there are more."""
        [(ready, limited)] = self.fetch(_PENDING, [queue_name, most, queue_name, most])
        return int(min(most, ready + limited))
