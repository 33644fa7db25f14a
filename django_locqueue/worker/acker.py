"""Writes outcomes in batches: one transaction for many, without making any wait long."""

import time
from collections import deque
from collections.abc import Callable
from datetime import datetime

from django_locqueue.policies.outcome import Outcome
from django_locqueue.service import IDLE_SECONDS, Service
from django_locqueue.store import Claimed, Store
from django_locqueue.worker.execution import Execution

LONGEST_WAIT_SECONDS = 0.02
BATCH = 100  # enough to write at once


class Acker(Service):
    """Keeps outcomes until they are stored, also while the database is away.

    ``busy()``: how many tasks have not ended; with none left there is nothing to wait for. ``on_stored(execution,
    accepted)`` is called for each when it is known whether the write was accepted.
    """

    name = "acker"

    def __init__(self, store: Store, busy: Callable[[], int], on_stored: Callable[[Execution, bool], None]) -> None:
        super().__init__()
        self.store = store
        self.busy = busy
        self.on_stored = on_stored
        self._ended: deque[Execution] = deque()

    def put(self, execution: Execution) -> None:
        self._ended.append(execution)
        waiting = len(self._ended)
        if waiting == 1 or waiting >= BATCH or self.busy() <= 1:  # the caller's own still counts
            self.wake()

    @property
    def pending(self) -> int:
        return len(self._ended)

    def run_once(self, now: datetime | None = None) -> float:
        if not self._ended:
            return IDLE_SECONDS
        waited = time.monotonic() - self._ended[0].ended
        if len(self._ended) < BATCH and waited < LONGEST_WAIT_SECONDS and self.busy() and not self._stopping:
            return LONGEST_WAIT_SECONDS - waited
        self.flush(now)
        return 0 if self._ended else IDLE_SECONDS

    def flush(self, now: datetime | None = None) -> None:
        """Write what has ended. What cannot be written stays for the next try."""
        batch = [self._ended[position] for position in range(min(len(self._ended), 5 * BATCH))]
        writes = [(e.claimed, e.outcome) for e in batch if e.outcome is not None and not e.recorded]
        accepted = self._ack(writes, now) if writes else set()
        for execution in batch:
            self._ended.popleft()
            self.on_stored(execution, execution.recorded or execution.claimed.id in accepted)

    def _ack(self, writes: list[tuple[Claimed, Outcome]], now: datetime | None) -> set[int]:
        return self.store.ack(writes, now=now)
