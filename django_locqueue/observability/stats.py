"""Numbers about the queue, for commands and pages. Counts are capped: none reads more than the cap."""

from collections.abc import Collection
from dataclasses import dataclass

from django_locqueue.models import State
from django_locqueue.store import Store

CAP = 10_000


@dataclass(frozen=True, slots=True)
class Count:
    number: int
    capped: bool

    def __str__(self) -> str:
        return f"{self.number:,}+" if self.capped else f"{self.number:,}"


def count(store: Store, state: State, *, queues: Collection[str] = (), cap: int = CAP) -> Count:
    """Return how many tasks are in a state, reading at most ``cap`` + 1 entries of its index."""
    tasks = store.tasks.filter(state=state)
    if queues:
        tasks = tasks.filter(queue_name__in=queues)
    number = tasks[: cap + 1].count()
    return Count(min(number, cap), number > cap)
