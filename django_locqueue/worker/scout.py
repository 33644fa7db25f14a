"""Looks over all that is ready, and all that this worker holds, where dead rows make that take long."""

import time
from collections import deque
from collections.abc import Callable, Collection
from datetime import datetime

from django_locqueue.service import IDLE_SECONDS, Service, rest_after
from django_locqueue.store import Claimed, Store
from django_locqueue.store.look_back import Found
from django_locqueue.store.serve import Owner

LONG_LOOK_SECONDS = 0.25  # then dead rows are in the way
LONGEST_REST_SECONDS = 120.0
MOST_FOUND = 1000  # of a queue
BATCH = 100  # tasks that are looked up in one claim


class Scout(Service):
    """Goes out when the dispatcher's own looks have become long, and comes home when its own are short again.

    An old transaction anywhere keeps the database from forgetting what was claimed since, and a look reads past all of
    it: millions of entries after some minutes under load. The dispatcher goes on behind its marks meanwhile; of what
    they have passed the scout brings the ids. ``on_return()`` is called after each of its looks.
    """

    name = "scout"
    waits_for_others = True  # for a look that rightly takes long

    def __init__(
        self,
        store: Store,
        owner: Callable[[], Owner | None],
        queues: Collection[str],
        exclude_queues: Collection[str],
        on_return: Callable[[], None],
    ) -> None:
        super().__init__()
        self.store = store
        self.owner = owner
        self.queues = queues
        self.exclude_queues = exclude_queues
        self.on_return = on_return
        self.is_out = False
        self._found: deque[Found] = deque()
        self._held: list[Claimed] | None = None

    def send(self) -> None:
        self.is_out = True
        self.wake()

    def run_once(self, now: datetime | None = None) -> float:
        if not self.is_out:
            return IDLE_SECONDS
        began = time.monotonic()
        found = self.store.find_ready(MOST_FOUND, queues=self.queues, exclude_queues=self.exclude_queues)
        self._found = deque(
            Found(each.queue_name, each.ids[start : start + BATCH])
            for each in found
            for start in range(0, len(each.ids), BATCH)
        )
        self.is_out = time.monotonic() - began >= LONG_LOOK_SECONDS
        if (owner := self.owner()) is not None:
            self._held = self.store.held(owner.id)
        self.on_return()
        return rest_after(time.monotonic() - began, longest=LONGEST_REST_SECONDS)

    def claim_found(self, owner: Owner, limit: int, now: datetime | None = None) -> list[Claimed]:
        """Claim up to ``limit`` of what was found and is ready still. On the dispatcher's thread."""
        claimed: list[Claimed] = []
        everything = self._found  # once: the scout may bring another meanwhile
        while everything and len(claimed) < limit:
            found, wanted = everything.popleft(), limit - len(claimed)
            if len(found.ids) > wanted:
                everything.appendleft(found._replace(ids=found.ids[wanted:]))
                found = found._replace(ids=found.ids[:wanted])
            claimed += self.store.claim_found(found, owner, now=now)
        return claimed

    def take_held(self) -> list[Claimed] | None:
        """Return once what this worker held at the last look; None if that was asked for already."""
        held, self._held = self._held, None
        return held
