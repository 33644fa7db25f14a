"""Holds running tasks to their deadlines and their cancellation, and gives this process a pulse for its supervisor."""

import math
import time
from collections.abc import Callable
from datetime import datetime

from django_locqueue import conf
from django_locqueue.exceptions import StopTask, TaskTimeout
from django_locqueue.service import IDLE_SECONDS, Service
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.pool import Pool
from django_locqueue.worker.slots import SlotTable

PULSE_SECONDS = 1.0
ENTERING_SECONDS = 0.05  # after which a function that was about to begin is interrupted


class Watchdog(Service):
    """Sleeps until the nearest deadline: it costs nothing while no running task has a timeout and none is cancelled.

    At its deadline a task is interrupted. One that has not ended ``TIMEOUT_GRACE_SECONDS`` after that cannot be
    stopped, and is given up: ``give_up(execution)``. A task that is cancelled is interrupted too, and then left to
    itself. Under a supervisor it counts in ``table`` while any Python code can run here.
    """

    name = "watchdog"

    def __init__(self, pool: Pool, give_up: Callable[[Execution], None], table: SlotTable | None = None) -> None:
        super().__init__()
        self.pool = pool
        self.give_up = give_up
        self.table = table
        self.grace = float(conf.worker.TIMEOUT_GRACE_SECONDS)
        self.pulse = min(PULSE_SECONDS, conf.worker.LEASE_SECONDS / 5) if table is not None else IDLE_SECONDS
        self._next = math.inf  # the nearest moment at which something is due
        self._is_new = False  # something is due before that

    def watch(self, execution: Execution) -> None:
        """Called when a function with a deadline begins, on its thread, and when a task is asked to stop."""
        if execution.due < self._next:
            self._is_new = True
            self.wake()

    def run_once(self, now: datetime | None = None) -> float:
        if self.table is not None:
            self.table.pulse += 1
        if self._is_new or time.monotonic() >= self._next:
            self._is_new, self._next = False, math.inf  # before the look: a task that begins during it is new
            self._next = min((self._hold(execution) for execution in self.pool.executions), default=math.inf)
        return 0 if self._is_new else max(0.0, min(self._next - time.monotonic(), self.pulse))

    def start(self) -> None:
        if self.table is not None:
            # Here and not on the thread: the first task may hold Python's lock before that has begun, and a process
            # that never had a pulse is none that has lost it.
            self.table.pulse += 1
        super().start()

    def stop(self, timeout: float | None = None) -> None:
        super().stop(timeout)
        if self.table is not None:
            self.table.pulse = 0

    def _hold(self, execution: Execution) -> float:
        """Do what is due to a task; return when it is to be looked at again."""
        return min(self._hold_to_its_end(execution), self._hold_to_its_deadline(execution))

    def _hold_to_its_end(self, execution: Execution) -> float:
        at, present, call = execution.interrupt_at, time.monotonic(), execution.interruptible
        if at is None or call is None:  # one that has not begun, or is async, sees by itself that it is cancelled
            return math.inf
        if present < at:
            return at
        if call.interrupt(StopTask) or call.is_over:
            execution.interrupt_at = None
            return math.inf
        return present + ENTERING_SECONDS

    def _hold_to_its_deadline(self, execution: Execution) -> float:
        deadline, present = execution.deadline, time.monotonic()
        if deadline is None:
            return math.inf
        if present < deadline:
            return deadline
        call = execution.interruptible
        if call is not None and not call.interrupt(TaskTimeout) and not call.is_over:
            return present + ENTERING_SECONDS
        if execution.give_up_at is None:  # counted from now: a process that was stopped looks long after the deadline
            execution.give_up_at = present + self.grace
        if present < execution.give_up_at:
            return execution.give_up_at
        self.give_up(execution)
        return math.inf
