"""The batch that is being sent, what the queue says to it, and what became of this process's hits."""

import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import DataError, Error, IntegrityError

from django_locqueue import QueueFull
from django_locqueue.accesslog.hit import Hit, new_id
from django_locqueue.accesslog.raw_hit import Captured, RawHit
from django_locqueue.accesslog.throttled import ThrottledLogger

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"))

LONGEST_BACKOFF_SECONDS = 60.0

# Trouble that passes: everything is kept and tried again. Whatever else the queue raises is about what it was given,
# and would be raised for ever.
OUTAGE = (Error, OSError, QueueFull)
REFUSAL = (DataError, IntegrityError)  # database errors that are about the values, too
COUNTED = ("dropped", "refused", "errors")  # what people are told of


@dataclass(slots=True)
class Counts:
    """Read by whoever wants to know; a race of two threads may lose a one."""

    sent: int = 0
    dropped: int = 0  # the buffer was full
    refused: int = 0  # could not be cleaned, or the queue would never take it
    failures: int = 0  # tries to enqueue that failed, because the database could not be used
    full: int = 0  # and because the queue held as many tasks as its MAX_PENDING allows
    errors: int = 0  # requests that could not be made into a hit
    spooled: int = 0  # written to SPOOL_DIR
    imported: int = 0  # sent from there, whichever process had written them


class Outbox:
    """Holds a batch, with the ids of its hits, until that is sent: a try that failed may have reached the database."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self.batch: list[Hit] = []
        self.outage = 0  # failed tries since the last that worked
        self.lock = threading.Lock()  # held by the thread that sends

    def fill(self, hits: deque[Captured], size: int) -> None:
        """Fill the batch up from the buffer."""
        self.batch += self.take(hits, size - len(self.batch))

    def take(self, hits: deque[Captured], most: int) -> list[Hit]:
        """Take hits from the buffer, cleaning those that the requests left raw. What cannot be cleaned is refused."""
        taken: list[Hit] = []
        while len(taken) < most and hits:
            try:
                hit = hits.popleft()
            except IndexError:  # a full buffer's request dropped it first
                break
            try:
                taken.append(hit if isinstance(hit, Hit) else RawHit._make(hit).clean())
            except Exception:
                self.note_refusal()
        return taken

    def send(self, send: Callable[[list[Hit]], None]) -> bool:
        """Send the batch; return False if the queue is away. A hit that it refuses is dropped, and it alone."""
        size = len(self.batch)
        while self.batch:
            part = self.batch[:size]
            try:
                send(part)
                self.counts.sent += len(part)
                size *= 2
            except Exception as error:
                if is_outage(error):
                    self.note_outage(error)
                    return False
                if len(part) > 1:  # the bad one is found by halving, and what is around it goes out on the way
                    size = len(part) // 2
                    continue
                self.note_refusal()
            del self.batch[: len(part)]
            self.outage = 0
        return True

    def note_outage(self, error: Exception) -> None:
        """Count and log a failed try; to be called while its exception is handled."""
        self.outage += 1
        if isinstance(error, QueueFull):
            self.counts.full += 1
            logger.warning("Logged requests are kept and tried again. %s", error)
        else:
            self.counts.failures += 1
            logger.failure("Logged requests could not be enqueued; they are kept and tried again.")

    def note_refusal(self) -> None:
        """Count and log a hit that is given up; to be called while its exception is handled."""
        self.counts.refused += 1
        logger.failure("A request could not be logged and was left out.")

    def backoff(self) -> float:
        """Return the seconds until the next try after a failed one.

        With jitter, since every process of the site lost the database in the same second.
        """
        return min(LONGEST_BACKOFF_SECONDS, 2.0 ** min(self.outage - 1, 10)) * random.uniform(0.75, 1.0)


def is_outage(error: Exception) -> bool:
    """Whether the queue cannot be used now, rather than refuses what it was given."""
    return isinstance(error, OUTAGE) and not isinstance(error, REFUSAL)


class LossReport:
    """Tells the database how many requests this process could not log, so that a page can tell people.

    Costs nothing while nothing is lost.
    """

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
