"""What running tasks have said of themselves and the database does not know yet."""

import logging
import time
from datetime import datetime

from django.db import Error

from django_locqueue.store import Key, Store
from django_locqueue.worker.execution import Execution

logger = logging.getLogger("django_locqueue.worker")

SAVE_SECONDS = 1.0  # between two writes, whatever many tasks say meanwhile
TRIES = 3  # of a write that fails; then what it had to say waits for the task's next word, or for its end


class Reporter:
    """``put`` is called by a task's thread for each word, ``save`` by a service about once a second.

    The last word is stored with the outcome: none is lost between two writes.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._reported: dict[Key, Execution] = {}
        self._save_at = 0.0
        self._failures = 0

    def put(self, execution: Execution) -> None:
        self._reported[execution.key] = execution

    def save(self, now: datetime | None = None) -> None:
        """Store the latest word of each task that has said something new, if it is time."""
        if not self._reported or time.monotonic() < self._save_at:
            return
        self._save_at = time.monotonic() + SAVE_SECONDS
        new = []
        for key in list(self._reported):
            execution = self._reported.pop(key)  # before its report is read: what comes after is put again
            if (said := execution.said) is not None and execution.outcome is None:
                new.append((key, said, execution))
        if not new:
            return
        try:
            self.store.save_reports([(key, report) for key, report, _ in new])
        except Error:
            self._failures += 1
            if self._failures < TRIES:
                for key, _, execution in new:
                    self._reported[key] = execution
            else:
                logger.error("The progress of %d tasks could not be stored; going on without it.", len(new))
            raise
        self._failures = 0
