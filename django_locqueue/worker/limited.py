"""When to look for tasks that wait for their turn under a limit, and in which lines."""

import math
import time
from collections import deque
from collections.abc import Collection
from datetime import datetime

from django_locqueue import conf
from django_locqueue.policies.limits import CONCURRENCY
from django_locqueue.service import rest_after
from django_locqueue.store import Claimed, Store
from django_locqueue.store.limits import LimitedClaim
from django_locqueue.store.lines import Line
from django_locqueue.store.serve import Owner

LEAST_WAIT_SECONDS = 0.001  # between two rounds, however exactly the database tells the next moment


class LimitedClaimer:
    """Claims from the lines of the queues that this worker serves, round after round, each time behind the last.

    A round begins when the first of the lines may give more, as far as a clock decides it, and whenever a look at the
    heads of the queues saw that anything waits; the line of a task that has ended is looked at alone, at once. Where no
    task is limited, nothing is asked.
    """

    def __init__(self, store: Store, queues: Collection[str], exclude_queues: Collection[str]) -> None:
        self.store = store
        self.queues = queues
        self.exclude_queues = exclude_queues
        self._due_at = math.inf
        self._after: Line | None = None
        self._next_at = math.inf  # when one of the lines of this round may give more
        self._spent = 0.0  # seconds of this round
        self._gave = False  # this round
        self.least, self.most = map(float, conf.worker.POLL_SECONDS)
        self._idle = self.least
        self._rest_until = 0.0
        self._ended: deque[Line] = deque()

    @property
    def due_in(self) -> float:
        """Seconds until there is something to look for."""
        return 0.0 if self._ended else max(0.0, self._due_at - time.monotonic())

    def note(self, *, any_waits: bool) -> None:
        """A look at the heads of all queues saw whether any task is limited."""
        self._due_at = min(self._due_at, max(self._rest_until, time.monotonic())) if any_waits else math.inf

    def hear(self) -> None:
        """A limited task was enqueued."""
        self._due_at = 0.0

    def end(self, task: Claimed) -> None:
        """A task has ended, and the end is stored: the next under its key may have its turn."""
        if task.limit_key is not None and task.limit_key.startswith(CONCURRENCY):
            self._ended.append(Line(task.queue_name, task.limit_key))

    def claim(self, owner: Owner, limit: int, now: datetime | None = None) -> LimitedClaim:
        """Give up to ``limit`` tasks or chunks to the owner."""
        return self._claim_ended(owner, limit, now) if self._ended else self._go_on(owner, limit, now)

    def _claim_ended(self, owner: Owner, limit: int, now: datetime | None) -> LimitedClaim:
        lines = {self._ended.popleft(): None for _ in range(len(self._ended))}
        claim = self.store.claim_lines(lines, owner, limit, now=now)
        if claim.count >= limit:
            self._due_at = 0.0  # perhaps not all of them have had their turn
        elif claim.next_seconds is not None:
            self._due_at = min(self._due_at, _moment(claim.next_seconds))
        return claim

    def _go_on(self, owner: Owner, limit: int, now: datetime | None) -> LimitedClaim:
        began = time.monotonic()
        claim = self.store.claim_limited(
            owner, limit, queues=self.queues, exclude_queues=self.exclude_queues, after=self._after, now=now
        )
        self._spent += time.monotonic() - began
        self._gave |= claim.count > 0
        self._after = claim.last
        if claim.next_seconds is not None:
            self._next_at = min(self._next_at, _moment(claim.next_seconds))
        if claim.last is not None:
            self._due_at = 0.0
        else:
            self._due_at, self._next_at = self._next_at, math.inf
            # What waits may wait long: for a queue that is paused, for tomorrow. It is asked for as often as others.
            self._idle = self.least if self._gave else min(self._idle * 1.5, self.most)
            self._rest_until = time.monotonic() + max(rest_after(self._spent), self._idle)
            self._spent, self._gave = 0.0, False
        return claim


def _moment(seconds: float) -> float:
    return time.monotonic() + max(seconds, LEAST_WAIT_SECONDS)
