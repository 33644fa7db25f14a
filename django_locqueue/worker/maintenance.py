"""What any worker does for the queue as a whole: promote, rescue, prune."""

import random
import time
from collections.abc import Callable, Mapping
from datetime import datetime

from django_locqueue import conf, endings
from django_locqueue.service import Service, rest_after
from django_locqueue.store import Store
from django_locqueue.store.recover import BATCH, SOON_SECONDS

PRUNE_SECONDS = 60
PRUNE_LIMITS_SECONDS = 3600  # they are kept for a day
THOROUGH_SECONDS = 60.0  # between sweeps over all that is running
LONG_SWEEP_SECONDS = 0.25  # then dead rows are in the way, and the next such sweep
RARELY_SECONDS = 1800.0  # comes after as long: it looks for what nobody should have done
LOCKED_SECONDS = 0.1


class Maintenance(Service):
    """Every worker runs it; rows that another holds are skipped, so more workers only share the work.

    ``on_ready()`` is called when tasks became ready. ``may_rescue()``: whether who is silent can be told from who is
    dead; not just after an outage. ``each_pass()``: what else is to be looked at once a second. ``next_due(now)``: who
    asks the store when the next task is due, and more by the same statement.
    """

    name = "maintenance"

    def __init__(
        self,
        store: Store,
        *,
        max_crashes: int,
        retention: Mapping[str, float | None],
        on_ready: Callable[[], None],
        may_rescue: Callable[[], bool] = lambda: True,
        each_pass: Callable[[], None] = lambda: None,
        next_due: Callable[[datetime | None], float | None] | None = None,
    ) -> None:
        super().__init__()
        self.store = store
        self.max_crashes = max_crashes
        self.retention = retention
        self.on_ready = on_ready
        self.may_rescue = may_rescue
        self.each_pass = each_pass
        self.next_due = next_due or (lambda now: store.next_due(now=now))
        self.sweep_seconds = max(0.3, float(conf.worker.LEASE_SECONDS) / 3)
        self._next_rescue = self._next_thorough = 0.0
        self.has_swept = False  # it has taken back what the dead had
        self._next_limits = time.monotonic() + random.uniform(0, PRUNE_LIMITS_SECONDS)
        self._next_prune = time.monotonic() + random.uniform(0, PRUNE_SECONDS)

    def run_once(self, now: datetime | None = None) -> float:
        self.each_pass()
        due = self.next_due(now)
        promoted = self._promote(now) if due is not None and due <= 0 else 0
        more = promoted == BATCH
        more = self._rescue(now) or more
        more = self._prune(now) or more
        if more:
            return 0
        if due is not None and due <= 0 and not promoted:
            due = LOCKED_SECONDS  # others promote it now, or its time is one that never comes (edited by hand)
        return max(0.0, min(SOON_SECONDS, self.sweep_seconds, SOON_SECONDS if due is None else due))

    def _promote(self, now: datetime | None) -> int:
        promoted = self.store.promote(now=now)
        if promoted:
            self.on_ready()
        return promoted

    def _rescue(self, now: datetime | None) -> bool:
        if time.monotonic() < self._next_rescue or not self.may_rescue():
            return False
        began = time.monotonic()
        thorough = began >= self._next_thorough
        rescued = endings.rescue(self.store, max_crashes=self.max_crashes, thorough=thorough, now=now)
        ended = time.monotonic()
        took = ended - began
        if thorough:
            rest = RARELY_SECONDS if took >= LONG_SWEEP_SECONDS else THOROUGH_SECONDS
            self._next_thorough = ended + (0.0 if len(rescued) == BATCH else rest * random.uniform(0.8, 1.2))
            took = 0.0
        self._next_rescue = ended + max(self.sweep_seconds * random.uniform(0.8, 1.2), rest_after(took))
        if rescued:
            self.on_ready()
        if len(rescued) == BATCH:
            self._next_rescue = 0.0
            return True
        self.has_swept = True
        return False

    def _prune(self, now: datetime | None) -> bool:
        if time.monotonic() < self._next_prune:
            return False
        began = time.monotonic()
        pruned = self.store.prune(self.retention, now=now) + self.store.prune_workflows(self.retention, now=now)
        if pruned >= BATCH:
            return True  # one batch a pass, so that promotion and rescue are not held up
        self.store.prune_workers(hours=conf.worker.STOPPED_WORKER_HOURS, now=now)
        if began >= self._next_limits:
            if self.store.prune_end_counts(now=now) >= BATCH:
                return True
            self.store.prune_limits(now=now)
            self._next_limits = began + PRUNE_LIMITS_SECONDS
        ended = time.monotonic()
        self._next_prune = ended + max(PRUNE_SECONDS, rest_after(ended - began))
        return False
