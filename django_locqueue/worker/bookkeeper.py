"""Keeps count of what has ended here, and adds it to the database's counts every few seconds."""

import logging
import random
import threading
import time
from bisect import bisect_left
from collections.abc import Sequence
from datetime import datetime

from django.db import Error

from django_locqueue import clock, endings
from django_locqueue.connections import close_connections
from django_locqueue.policies.histogram import BOUNDS
from django_locqueue.policies.outcome import FAILURES, Kind, Outcome
from django_locqueue.service import IDLE_SECONDS, Service
from django_locqueue.store import EndCounts, Store
from django_locqueue.store.end_counts import (
    CANCELLED,
    FAILED,
    NOTHING,
    RETRIED,
    RUN,
    RUN_BINS,
    SUCCEEDED,
    WAIT,
    WAIT_BINS,
    Failures,
    Sums,
)
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.quota import resident_megabytes

logger = logging.getLogger("django_locqueue.worker")

FLUSH_SECONDS = 5.0  # a worker that is killed takes the counts of about so long with it
MOST_ROWS = 20_000  # that are kept for a database which does not take them

_COLUMNS = {
    Kind.SUCCESSFUL: SUCCEEDED,
    Kind.FAILED: FAILED,
    Kind.RETRIED: RETRIED,
    Kind.CANCELLED: CANCELLED,
}


class Bookkeeper(Service):
    """A service of its own: somebody who holds a lock on a count holds up nothing else.

    ``succeeded``, ``failed``: attempts, since the process began; the latter also where the task will be retried.
    """

    name = "bookkeeper"

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.succeeded = self.failed = 0
        self._lock = threading.Lock()  # of what follows
        self._sums: dict[tuple[str, str], Sums] = {}  # by queue and path; of one minute, all of it
        self._minute = 0.0
        self._new = EndCounts()
        self._due: float | None = None  # when it is to be written; None: nothing is there
        self._writing = threading.Lock()
        self._unwritten = EndCounts()  # of whom has that lock

    def note(self, executions: Sequence[Execution]) -> None:
        """Count executions whose outcomes were stored, or refused. Costs about a microsecond for each."""
        if not executions:
            return
        last = executions[-1]
        # The database's clock, without asking it: by what it said at the claim.
        at = clock.timestamp(last.claimed.last_attempted_at) + time.monotonic() - last.claimed_at
        with self._lock:
            if (minute := at // 60 * 60) != self._minute:
                self._close_minute()
                self._minute = minute
            all_sums = self._sums
            for execution in executions:
                outcome, claimed = execution.outcome, execution.claimed
                if outcome is None or execution.written is None or (column := _COLUMNS.get(outcome.kind)) is None:
                    continue
                key = claimed.queue_name, claimed.task_path
                sums = all_sums.get(key)
                if sums is None:
                    sums = all_sums[key] = list(NOTHING)
                sums[column] += 1
                if column == CANCELLED:
                    continue
                if (began := execution.began) is not None:
                    run = execution.ended - began
                    sums[RUN] += run
                    sums[RUN_BINS + bisect_left(BOUNDS, run)] += 1
                ready = max(claimed.enqueued_at, claimed.run_after)
                if claimed.attempt == 1 or ready >= claimed.started_at:  # else it was put back, nobody knows when
                    wait = (claimed.last_attempted_at - ready).total_seconds()
                    sums[WAIT] += wait
                    sums[WAIT_BINS + bisect_left(BOUNDS, wait)] += 1
                if column == SUCCEEDED:
                    self.succeeded += 1
                else:
                    self.failed += 1
                    self._note_failure(at, claimed.task_path, outcome)
            self._is_due()

    def _note_failure(self, at: float, task_path: str, outcome: Outcome) -> None:
        if (error := outcome.error) is not None and outcome.kind in FAILURES:
            self._new.add_failures(Failures(error.kind, at, at, 1, task_path, error.place))

    def put(self, store: Store, counts: EndCounts) -> None:
        """Count what ended here without a run, see ``endings``. A task may end some in another database."""
        if store is not self.store:
            endings.count_at_once(store, counts)
            return
        with self._lock:
            self._new.merge(counts)
            self._is_due()

    def _is_due(self) -> None:
        if self._due is None:
            self._due = time.monotonic() + FLUSH_SECONDS * random.uniform(0.8, 1.2)  # not all workers at once
            self.wake()

    def _close_minute(self) -> None:
        for (queue_name, task_path), sums in self._sums.items():
            self._new.add(self._minute, queue_name, task_path, sums)
        self._sums = {}

    def shown(self) -> dict[str, int]:
        """Return the columns of the worker's row that say what this process has done."""
        memory = round(resident_megabytes())
        return {"succeeded": self.succeeded, "failed": self.failed, "memory_mb": memory}

    def run_once(self, now: datetime | None = None) -> float:
        due = self._due
        if due is None:
            return IDLE_SECONDS
        if (left := due - time.monotonic()) > 0 and not self._stopping:
            return left
        self.flush()
        return 0

    def flush(self) -> None:
        """Write what there is. What cannot be written stays for the next time.

        Nothing is done while another thread writes: at the end of the process that one may hang.
        """
        if not self._writing.acquire(blocking=False):
            return
        try:
            with self._lock:
                self._close_minute()
                self._unwritten.merge(self._new)
                self._new, self._due = EndCounts(), None
            self.store.add_end_counts(self._unwritten)
        except BaseException:
            if dropped := self._unwritten.drop(MOST_ROWS):
                logger.warning("%d counts of what has ended were forgotten: the database does not take them.", dropped)
            with self._lock:
                self._is_due()
            raise
        finally:
            self._writing.release()

    def finish(self) -> None:
        """Write the rest, at the end of the process."""
        try:
            self.flush()
        except Error:
            logger.warning("The counts of what ended last could not be written.", exc_info=True)
        finally:
            close_connections()
