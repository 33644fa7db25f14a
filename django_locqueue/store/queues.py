"""What is known of a queue as a whole: that it exists, that it is paused, and how many tasks wait in it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Q

from django_locqueue import clock
from django_locqueue.models import Queue, Task, orderings
from django_locqueue.policies.outcome import shortened
from django_locqueue.store.base import StoreBase, repeated

_TABLE = Task._meta.db_table
# Each LIMIT is inside, so that none reads on, and each ORDER BY is that of an index, so that no planner sorts.
_PENDING = f"""
SELECT
  (SELECT COUNT(*) FROM (
    SELECT id FROM {_TABLE} WHERE state = 'ready' AND queue_name = %s
    {orderings.order_by(orderings.READY[1:])} LIMIT %s
  ) AS ready),
  (SELECT COUNT(*) FROM (
    SELECT id FROM {_TABLE} WHERE state = 'blocked' AND limit_key IS NOT NULL AND queue_name = %s
    {orderings.order_by(orderings.LIMITED[1:])} LIMIT %s
  ) AS limited)
"""


class QueueKeeping(StoreBase):
    def paused_sql(self, now: datetime | None) -> tuple[str, list[Any]]:
        """Return a condition on rows of ``locqueue_queue``: paused, and not only until a time that is over."""
        time, params = self.now_sql(now)
        return f"paused_at IS NOT NULL AND (paused_until IS NULL OR paused_until > {time})", params

    @repeated
    def pause(
        self,
        queue_name: str,
        *,
        by: str = "",
        reason: str = "",
        until: datetime | None = None,
        now: datetime | None = None,
    ) -> bool:
        """Stop claims from a queue, until a time if one is given; running tasks finish. False if it is paused."""
        queues = Queue.objects.using(self.alias)
        queues.get_or_create(name=queue_name)
        time = self.time(now)
        free = queues.filter(Q(paused_at=None) | Q(paused_until__lte=time), name=queue_name)
        return bool(
            free.update(
                paused_at=time,
                paused_until=None if until is None else clock.storable(until),
                paused_by=shortened(by, 150),
                pause_reason=shortened(reason, 200),
            )
        )

    @repeated
    def resume(self, queue_name: str, *, now: datetime | None = None) -> bool:
        """Let claims go on. False if it was not paused, or its pause was over."""
        paused = Queue.objects.using(self.alias).paused(self.time(now)).filter(name=queue_name)
        return bool(paused.update(paused_at=None, paused_until=None, paused_by="", pause_reason=""))

    @repeated
    def add_queues(self, names: Sequence[str]) -> None:
        """Make sure that the queues have rows, so that pages and pauses know them."""
        Queue.objects.using(self.alias).bulk_create([Queue(name=name) for name in names], ignore_conflicts=True)

    def count_pending(self, queue_name: str, most: int) -> int:
        """Return how many tasks of a queue could start now or wait under a limit; ``most`` if there are more."""
        [(ready, limited)] = self.fetch(_PENDING, [queue_name, most, queue_name, most])
        return int(min(most, ready + limited))
