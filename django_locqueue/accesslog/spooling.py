"""Moves hits from the recorder's buffer to the spool, and from there to the queue."""

import threading
import time
from collections import deque
from collections.abc import Callable

from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.outbox import Outbox, logger
from django_locqueue.accesslog.raw_hit import Captured
from django_locqueue.accesslog.spool import Spool

PAUSE_SECONDS = 5.0  # after a file that could not be written: a full disk is still full at the next request


class Spooling:
    """What a recorder does with its spool."""

    def __init__(self, hits: deque[Captured], outbox: Outbox) -> None:
        self._hits = hits
        self._outbox = outbox
        self._counts = outbox.counts
        self._busy = threading.Lock()  # held by the thread that makes room
        self._not_before = 0.0  # by the monotonic clock

    def begin(self, spool: Spool, batch: int, leave: int) -> None:
        """Have a thread spool the oldest hits until ``leave`` are left; for requests, which must not wait for a disk.

        The thread that sends cannot do it: it may be waiting for a database that says nothing.
        """
        if time.monotonic() < self._not_before or not self._busy.acquire(blocking=False):
            return
        thread = threading.Thread(
            target=self._make_room, args=(spool, batch, leave), name="locqueue-accesslog-spool", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the system has no thread to give now
            self._busy.release()
            self._not_before = time.monotonic() + PAUSE_SECONDS

    def wait(self, deadline: float) -> None:
        """Wait for the thread that makes room, until ``deadline`` by the monotonic clock."""
        if self._busy.acquire(timeout=max(0.0, deadline - time.monotonic())):
            self._busy.release()

    def keep_all(self, spool: Spool, batch: int) -> bool:
        """Spool all that waits, what is being sent included; return whether it is kept."""
        is_ours = self._outbox.lock.acquire(blocking=False)
        try:
            in_hand = list(self._outbox.batch)
            if in_hand and not self._keep(spool, in_hand):
                return False
            if is_ours:
                self._outbox.batch.clear()
        finally:
            if is_ours:
                self._outbox.lock.release()
        while self._hits:
            if not self._keep_next(spool, batch):
                return False
        return True

    def send(self, spool: Spool, send: Callable[[list[Hit]], None], batch: int) -> bool:
        """Send what any process has spooled; return False if the queue is away.

        Ends early for a batch of new hits, which have only this process.
        """
        outbox = self._outbox
        with outbox.lock:
            try:
                while len(self._hits) < batch and (file := spool.claim()) is not None:
                    outbox.batch, bad = file.read()
                    if bad:
                        self._counts.refused += bad
                        logger.warning("%d lines of %s hold no logged request and were left out.", bad, file.path)
                    read = len(outbox.batch)
                    if not outbox.send(send):
                        outbox.batch.clear()
                        file.give_back()
                        return False
                    file.remove()
                    self._counts.imported += read
            except OSError:
                logger.failure("Spooled requests could not be read; they are tried again.")
            outbox.outage = 0  # nothing was refused, or nothing waits any more that could be
        return True

    def _make_room(self, spool: Spool, batch: int, leave: int) -> None:
        try:
            while len(self._hits) > leave and self._keep_next(spool, batch):
                pass
        finally:
            self._busy.release()

    def _keep_next(self, spool: Spool, batch: int) -> bool:
        taken = self._outbox.take(self._hits, batch)
        if not taken or self._keep(spool, taken):
            return True
        self._hits.extendleft(reversed(taken))
        return False

    def _keep(self, spool: Spool, hits: list[Hit]) -> bool:
        try:
            is_kept = spool.write(hits)
        except OSError:
            is_kept = False
            logger.failure("Logged requests could not be spooled; they are kept in memory.")
        else:
            if not is_kept:
                logger.warning("%s is full: logged requests are kept in memory, and the oldest dropped.", spool.folder)
        if is_kept:
            self._counts.spooled += len(hits)
        else:
            self._not_before = time.monotonic() + PAUSE_SECONDS
        return is_kept
