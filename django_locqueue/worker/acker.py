"""Writes outcomes in batches: one transaction for many, without making any wait long."""

import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime

from django.db import Error, InterfaceError, OperationalError

from django_locqueue.connections import close_connections
from django_locqueue.exceptions import OutcomeRefused
from django_locqueue.models import State
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from django_locqueue.service import IDLE_SECONDS, Service, describe
from django_locqueue.store import Key, Store
from django_locqueue.worker.execution import Execution

TRIES = 3  # of a batch; then each outcome is written by itself
REFUSALS = 3  # of one outcome by a database that answers, before it is taken for what it is
LONGEST_WAIT_SECONDS = 0.02
BATCH = 100  # enough to write at once


class Acker(Service):
    """Keeps outcomes until they are stored, also while the database is away.

    ``busy()``: how many tasks have not ended; with none left there is nothing to wait for. ``on_stored(executions)``
    is called when it is known whether the writes were accepted: ``written`` is None for those that were refused.
    """

    name = "acker"

    def __init__(self, store: Store, busy: Callable[[], int], on_stored: Callable[[list[Execution]], None]) -> None:
        super().__init__()
        self.store = store
        self.busy = busy
        self.on_stored = on_stored
        self._ended: deque[Execution] = deque()
        self._rests = True  # it waits to be woken, and not for a while

    def put(self, execution: Execution) -> None:
        self._ended.append(execution)
        if self._rests or len(self._ended) == BATCH or self.busy() <= 1:  # the caller's own still counts
            self._rests = False  # the pass that begins now sets it again
            self.wake()

    def put_all(self, executions: Iterable[Execution]) -> None:
        """A chunk has ended: a batch of its own."""
        self._ended.extend(executions)
        self.wake()

    def ending(self) -> set[Key]:
        """Return the tasks that have ended and whose outcome is not stored yet."""
        return {execution.key for execution in list(self._ended)}

    @property
    def pending(self) -> int:
        return len(self._ended)

    def run_once(self, now: datetime | None = None) -> float:
        self._rests = False
        if not self._ended:
            return self._rest()
        waited = time.monotonic() - self._ended[0].ended
        if len(self._ended) < BATCH and waited < LONGEST_WAIT_SECONDS and self.busy() and not self._stopping:
            return LONGEST_WAIT_SECONDS - waited
        self.flush(now)
        return self._rest()

    def _rest(self) -> float:
        self._rests = True  # before the look: who adds one later sees it, and wakes us
        return 0 if self._ended else IDLE_SECONDS

    def flush(self, now: datetime | None = None) -> None:
        """Write what has ended. What cannot be written stays for the next try."""
        # After some failures one by one: a single outcome that the database refuses must not keep all others.
        size = 5 * BATCH if self.failures < TRIES else 1
        while True:
            batch = list(self._ended)[:size]  # copied in one step: slots add to it meanwhile
            writing = [e for e in batch if e.outcome is not None and e.written is None]
            write = self._write if size > 1 else self._write_or_replace
            written = write(writing, now) if writing else {}
            for execution in batch:
                self._ended.popleft()
                if execution.written is None:
                    execution.settle(written.get(execution.key))
            self.on_stored(batch)
            if size > 1 or not self._ended:
                return

    def _write(self, ended: list[Execution], now: datetime | None) -> dict[Key, State]:
        outcomes = [(e.claimed, e.outcome) for e in ended if e.outcome is not None]
        written = self.store.ack(outcomes, now=now)
        if self.failures and (refused := [each for each in outcomes if each[0].key not in written]):
            # The try that failed may have been stored: its commit, but not the connection, had succeeded.
            written |= self.store.confirm(refused)
        return written

    def _write_or_replace(self, ended: list[Execution], now: datetime | None) -> dict[Key, State]:
        """Write an outcome; if the database refuses this and accepts a short failure in its place, that one.

        A database that is away refuses everything, and may come back between any two statements. So it has to answer
        before the outcome is tried once more, and after that has failed too; and where the error may come from the
        connection, this has to happen several times.
        """
        [execution] = ended
        try:
            return self._write(ended, now)
        except Exception as error:
            self._prove_refused(error)
        try:
            return self._write(ended, now)
        except Exception as error:
            self._prove_refused(error)
            execution.refusals += 1
            enough = REFUSALS if isinstance(error, OperationalError) else 1
            if execution.refusals < enough or execution.outcome is None or execution.outcome.kind in _PUT_BACK:
                raise
            what = f"{execution.claimed.name} #{execution.claimed.id}"
            refused = OutcomeRefused(f"What came of {what} could not be stored: {describe(error)}")
            failure = Outcome(Kind.FAILED, error=ErrorReport.of(refused), exception=refused)
            written = self.store.ack([(execution.claimed, failure)], now=now)
            execution.outcome = failure
            return written

    def _prove_refused(self, error: Exception) -> None:
        """Return if the error is what a database says that answers; else raise, and the outcome waits."""
        if isinstance(error, InterfaceError) or (isinstance(error, Error) and self.store.is_transient(error)):
            raise error  # the driver had no connection; or the database asks to repeat
        close_connections()
        self.store.now()


# Nothing in these can be refused for what it is: the database is in trouble.
_PUT_BACK = (Kind.RELEASED, Kind.SNOOZED)
