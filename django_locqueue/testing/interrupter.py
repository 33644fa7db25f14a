"""What stands in for a worker's watchdog where there is no worker."""

import threading

from django_locqueue.exceptions import TaskTimeout
from django_locqueue.worker.execution import Execution


class Interrupter:
    """Called with an execution whose function has a deadline; interrupts it then. ``cancel()``: it has ended."""

    def __init__(self) -> None:
        self._timers: list[threading.Timer] = []

    def __call__(self, execution: Execution) -> None:
        if execution.timeout is None:  # it is asked to stop, and that is not ours to enforce
            return
        timer = threading.Timer(execution.timeout, _interrupt, [execution])
        timer.daemon = True
        timer.start()
        self._timers.append(timer)

    def cancel(self) -> None:
        while self._timers:
            timer = self._timers.pop()
            timer.cancel()
            timer.join()


def _interrupt(execution: Execution) -> None:
    if execution.interruptible is not None:  # an async function is cancelled by its own loop
        execution.interruptible.interrupt(TaskTimeout)
