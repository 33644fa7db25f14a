"""Keeps this worker's lease, and hears what it should stop."""

import time
from collections.abc import Callable
from datetime import datetime
from functools import partial

from django_locqueue import conf
from django_locqueue.models import Worker as WorkerRow
from django_locqueue.service import Service
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from django_locqueue.worker.execution import StopReason
from django_locqueue.worker.pool import Pool

MOST_OF_THE_LEASE = 0.8


class Heartbeat(Service):
    """``register()`` makes a new worker row: at the start, and when the old one was given up by others.

    ``on_beat()`` is called after each beat that the database has taken, the registration too; ``on_dismissal()`` when a
    person has asked this worker to stop. ``shown()``: the columns of the row that go with each beat, for pages.
    """

    name = "heartbeat"

    def __init__(
        self,
        store: Store,
        pool: Pool,
        register: Callable[[], WorkerRow],
        on_beat: Callable[[], None] = lambda: None,
        on_dismissal: Callable[[], None] = lambda: None,
        shown: Callable[[], dict[str, int]] = dict,
    ) -> None:
        super().__init__()
        self.store = store
        self.pool = pool
        self.register = register
        self.on_beat = on_beat
        self.on_dismissal = on_dismissal
        self.shown = shown
        self.lease = float(conf.worker.LEASE_SECONDS)
        self.interval = min(float(conf.worker.HEARTBEAT_SECONDS), self.lease / 3)
        self.LONGEST_WAIT_SECONDS = self.interval
        self.stopping = False  # shown with the next beat: it takes no more tasks
        self._is_dismissed = False
        self._began()

    def _began(self) -> None:
        beat = time.monotonic()  # before the statement: the lease cannot begin later than that
        self.row = self.register()
        self._last_beat = self._steady_since = beat
        self.on_beat()

    @property
    def owner(self) -> Owner | None:
        """Who claims; None while the lease may be over."""
        return Owner(self.row.pk, self.row.name) if self.lease_is_good else None

    @property
    def lease_is_good(self) -> bool:
        return time.monotonic() - self._last_beat < self.lease * MOST_OF_THE_LEASE

    @property
    def is_steady(self) -> bool:
        """Whether this worker has beaten without a gap for longer than any other takes to beat again.

        After an outage of the database all leases are over, and the first to come back must not take the tasks of
        the living, its own among them, for those of the dead.
        """
        return self.lease_is_good and time.monotonic() - self._steady_since > self.interval

    def run_once(self, now: datetime | None = None) -> float:
        beat = time.monotonic()
        if self._beat(now):
            if beat - self._last_beat > 2 * self.interval:
                self._steady_since = beat
            self._last_beat = beat
            self.on_beat()
        else:
            # Silent for too long: others have taken its tasks.
            self.pool.ask_to_stop(StopReason.LEASE_LOST)
            if self.stopping:
                return self.interval  # it will claim no more, so it needs no new row
            self._began()
        return self.interval

    def _beat(self, now: datetime | None) -> bool:
        """Extend the lease; False: the row is no longer ours."""
        beat = partial(self.store.heartbeat, self.row.pk, lease=self.lease, shown=self.shown(), now=now)
        beaten = beat(stopping=self.stopping, dismissed=self._is_dismissed)
        if not beaten and not self._is_dismissed and self.store.is_asked_to_stop(self.row.pk):
            self.stopping = self._is_dismissed = True
            self.on_dismissal()
            beaten = beat(stopping=True, dismissed=True)
        return beaten

    def look_for_cancelled(self) -> None:
        """Ask those of our running tasks to stop that somebody has cancelled."""
        if running := [execution.key for execution in self.pool.members if execution.began is not None]:
            self.pool.ask_to_stop(StopReason.CANCELLED, self.store.asked_to_stop(running))

    def watch(self) -> None:
        """Ask the tasks to stop when the lease is in doubt. For another thread: a beat that hangs does not fail."""
        if not self.lease_is_good:
            self.pool.ask_to_stop(StopReason.LEASE_LOST)
