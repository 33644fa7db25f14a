"""Keeps everybody from a location service that does not answer: one breaker for each, shared by all workers.

It opens after a few failures in a row, for longer each time. When it may be asked again, one call tries: the queue lets
only one at a time start for a service (see ``asking.py``), and what comes of it is known to the next.
"""

import datetime
import logging
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from django_locqueue.accesslog.hit import text
from django_locqueue.accesslog.models import ProviderState
from django_locqueue.accesslog.primary import primary

logger = logging.getLogger("django_locqueue.accesslog")

FAILURES = 5  # in a row
SHORTEST_SECONDS = 30.0
LONGEST_SECONDS = 900.0
DENIED_SECONDS = 3600.0
REASON_LENGTH = 200

Trouble = ProviderState.Trouble


def open_seconds(failures: int) -> float:
    """Return for how long nobody asks after so many failures in a row."""
    if failures < FAILURES:
        return 0.0
    return min(SHORTEST_SECONDS * 2.0 ** min(failures - FAILURES, 10), LONGEST_SECONDS)


class Breaker:
    """That of the service ``name``, as it was read when this was made. Times are this machine's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.state = self._row().first() or ProviderState(name=name)

    @property
    def is_denied(self) -> bool:
        """Whether a person must do something first."""
        return self.state.trouble == Trouble.DENIED

    @property
    def seconds(self) -> float:
        """How long it is still open; 0: the service may be asked."""
        until = self.state.open_until
        return max(0.0, (until - timezone.now()).total_seconds()) if until else 0.0

    def succeed(self) -> None:
        if self.state.trouble or self.state.failures:
            self._write(Trouble.NONE, "", 0, None)

    def fail(self, reason: str) -> None:
        failures = self.state.failures + 1
        self._write(Trouble.FAILING, reason, failures, open_seconds(failures) or None)

    def exhaust(self, reason: str, seconds: float) -> None:
        """The quota is used up for so long."""
        self._write(Trouble.EXHAUSTED, reason, 0, seconds)

    def deny(self, reason: str) -> None:
        """It does not let us in."""
        self._write(Trouble.DENIED, reason, 0, DENIED_SECONDS)

    def _write(self, trouble: str, reason: str, failures: int, seconds: float | None) -> None:
        now = timezone.now()
        values: dict[str, Any] = {
            "trouble": trouble,
            "reason": text(reason, REASON_LENGTH),
            "failures": failures,
            "open_until": None if seconds is None else now + datetime.timedelta(seconds=seconds),
            "changed_at": now,
        }
        if trouble and seconds is not None:
            logger.warning("IP locations: %s is not asked for %d s (%s): %s", self.name, seconds, str(trouble), reason)
        self.state, _ = self._row().update_or_create(name=self.name, defaults=values)

    def _row(self) -> QuerySet[ProviderState]:
        return primary(ProviderState).filter(name=self.name)
