"""Tells the database how many requests this process could not log, so that a page can tell people."""

import time
from collections.abc import Callable
from typing import Any

from django_locqueue.accesslog.counts import Counts
from django_locqueue.accesslog.hit import new_id
from django_locqueue.accesslog.outbox import is_outage, logger

COUNTED = ("dropped", "refused", "errors")


class LossReport:
    """Costs nothing while nothing is lost."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._told = dict.fromkeys(COUNTED, 0)
        # Kept as it is until it is sent: a try that failed may have reached the database, and its id tells.
        self._report: dict[str, Any] | None = None

    def send(self, send: Callable[..., None]) -> bool:
        """Send what was lost since the last report, if anything; return False if the queue is away."""
        if self._report is None:
            new = {name: getattr(self._counts, name) - self._told[name] for name in COUNTED}
            if not any(new.values()):
                return True
            self._report = {"loss_id": new_id(), "time": time.time(), **new}
        try:
            send(**self._report)
        except Exception as error:
            logger.failure("How many requests were not logged could not be stored.")
            if is_outage(error):
                return False
        for name in COUNTED:
            self._told[name] += self._report[name]
        self._report = None
        return True
