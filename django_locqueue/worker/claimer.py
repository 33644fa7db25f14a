"""Which tasks are claimed next: from the heads of all queues, or from where the last claim ended."""

import time
from collections.abc import Collection
from datetime import datetime

from django_locqueue.service import rest_after
from django_locqueue.store import Claimed, Store
from django_locqueue.store.serve import Mark, Owner
from django_locqueue.worker.limited import LimitedClaimer
from django_locqueue.worker.scout import LONG_LOOK_SECONDS, Scout

LOOK_AROUND_SECONDS = 0.2  # while the marks give enough, how often the heads are looked at
MOST_HEARD = 5  # claims in a row from the queue that was heard of, before the others are looked at


class Claimer:
    """Claims from the queues that this worker serves.

    While there is a backlog, claims go on behind the low-water marks of those before: a row that was claimed stays in
    the ready index until the database can forget it, which one old transaction anywhere forbids, and a claim from
    the head reads past all of them. What comes to be in front of a mark (a late commit, a retried task, a higher
    priority) is found by the look at the heads that follows a claim which was not filled, and any other after
    ``LOOK_AROUND_SECONDS``. Where looks take long, the scout makes them.
    """

    def __init__(
        self, store: Store, scout: Scout, queues: Collection[str] = (), exclude_queues: Collection[str] = ()
    ) -> None:
        self.store = store
        self.scout = scout
        self.queues = queues
        self.exclude_queues = exclude_queues
        self._marks: dict[tuple[str, int], Mark] = {}  # by queue and priority
        self._is_full = False  # the last claim got all that it asked for
        self._look_again_at = 0.0
        self._last_look = 0.0
        self._heard: str | None = None
        self._heard_claims = 0
        self.limited = LimitedClaimer(store, queues, exclude_queues)

    @property
    def has_backlog(self) -> bool:
        """Whether there was more than the last claim asked for."""
        return self._is_full

    def hear(self, queue_name: str) -> None:
        """The next claim is from this queue alone, if there was no backlog: who goes first need not be asked then."""
        self._heard = queue_name

    def claim(self, owner: Owner, limit: int, now: datetime | None = None) -> list[Claimed]:
        """Give up to ``limit`` ready tasks to the owner; fewer only if no more were found where it looked."""
        heard, self._heard = self._heard, None
        if self.scout.is_out:
            self.limited.note(any_waits=True)  # nobody looks
            claimed = self.scout.claim_found(owner, limit, now)
            if len(claimed) < limit:
                claimed += self._claim_behind_marks(owner, limit - len(claimed), now)
            if heard is not None and len(claimed) < limit and all(queue != heard for queue, _ in self._marks):
                claimed += self.store.claim_from(heard, owner, limit - len(claimed), now=now)  # nothing is dead there
        elif heard is not None and not self._is_full and self._heard_claims < MOST_HEARD:
            self._heard_claims += 1
            claimed = self.store.claim_from(heard, owner, limit, now=now)
            self._is_full = len(claimed) == limit
            return claimed
        else:
            behind = self._is_full and time.monotonic() < self._look_again_at
            claimed = self._claim_behind_marks(owner, limit, now) if behind else []
            if len(claimed) < limit:
                claimed += self._look(owner, limit - len(claimed), now)
        self._heard_claims = 0
        self._is_full = len(claimed) == limit
        return claimed

    def _claim_behind_marks(self, owner: Owner, limit: int, now: datetime | None) -> list[Claimed]:
        claimed: list[Claimed] = []
        for queue, mark in sorted(self._marks.items(), key=lambda each: (-each[1].priority, each[1].run_after)):
            got = self.store.claim_from(queue[0], owner, limit - len(claimed), after=mark, now=now)
            self._move_marks(got)
            claimed += got
            if len(claimed) == limit:
                break
        return claimed

    def _look(self, owner: Owner, limit: int, now: datetime | None) -> list[Claimed]:
        began = time.monotonic()
        look = self.store.look(now=now)
        self.limited.note(any_waits=look.is_limited)
        claimed = self.store.claim(
            owner, limit, queues=self.queues, exclude_queues=self.exclude_queues, look=look, now=now
        )
        ended = time.monotonic()
        # Dead rows are there each time; a lock on the table, or a machine that stood still, once.
        took = min(self._last_look, ended - began)
        self._last_look = ended - began
        self._look_again_at = ended + max(LOOK_AROUND_SECONDS, rest_after(took))
        if took >= LONG_LOOK_SECONDS:
            self.scout.send()
        else:
            self._marks.clear()  # those of queues that are empty now would cost a statement each
        self._move_marks(claimed)
        return claimed

    def _move_marks(self, claimed: list[Claimed]) -> None:
        seen: set[tuple[str, int]] = set()
        for task in reversed(claimed):  # in the order of service, so that the last of each kind is its mark
            kind = task.queue_name, task.priority
            if kind not in seen and task.run_after is not None:  # edited by hand: 0000-00-00, or any text on SQLite
                seen.add(kind)
                self._marks[kind] = Mark(task.priority, task.run_after, task.id)
