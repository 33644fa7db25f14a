"""What the low-water marks of claims have passed: found by a look over all that is ready, and claimed by id."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from django_locqueue.store.base import repeated
from django_locqueue.store.serve import TABLE, Owner, Serving
from django_locqueue.store.values import Claimed


class Found(NamedTuple):
    """Tasks that were ready when the look began, in the order of service within their queue."""

    queue_name: str
    ids: Sequence[int]


class LookingBack(Serving):
    def find_ready(
        self, limit: int, *, queues: Collection[str] = (), exclude_queues: Collection[str] = ()
    ) -> Iterator[Found]:
        """Find up to ``limit`` ready tasks at the head of each queue; no queues: of all that have any.

        Locks nothing and changes nothing. It reads past all entries of rows that were claimed and that the database
        cannot forget yet.
        """
        ready = self.tasks.ready().order_by("queue_name", "-priority", "run_after", "id")
        names = ready.values_list("queue_name", flat=True)
        name = names.first()
        while name is not None:
            if (not queues or name in queues) and name not in exclude_queues:
                own = ready.filter(queue_name=name).order_by("-priority", "run_after", "id")  # as `IN_QUEUE`
                yield Found(name, list(own.values_list("pk", flat=True)[:limit]))
            name = names.filter(queue_name__gt=name).first()

    @repeated
    def claim_found(self, found: Found, owner: Owner, *, now: datetime | None = None) -> list[Claimed]:
        """Claim those of the found tasks that are ready still, through the primary key."""
        paused, params = self.paused_sql(now)
        picked = (
            f"FROM {TABLE} WHERE id IN ({', '.join(['%s'] * len(found.ids))}) AND {self.any_state_sql} = 'ready' "
            f"AND NOT EXISTS (SELECT 1 FROM locqueue_queue WHERE name = %s AND {paused})"
        )
        return self._claim_picked(picked, [*found.ids, found.queue_name, *params], owner, now)
