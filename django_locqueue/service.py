"""The one way in which a background loop starts, waits, fails and stops."""

import logging
import random
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import Error, connections, reset_queries

from django_locqueue.connections import break_off, close_connections, return_to_pool

logger = logging.getLogger("django_locqueue.worker")

IDLE_SECONDS = 3600.0  # "until somebody wakes me"
AGAIN_SECONDS = 0.02  # longer than what news may be held back (store.notify)
LARGEST_SHARE = 0.05
LONGEST_REST_SECONDS = 30.0


def rest_after(seconds: float, longest: float = LONGEST_REST_SECONDS) -> float:
    """Return the pause after a search that took so long: it may take a twentieth of the time.

    Where an old transaction keeps the database from forgetting what ended, a search reads past all of it.
    """
    return min(seconds * (1 / LARGEST_SHARE - 1), longest)


class Service:
    """A loop in a thread of its own: ``run_once`` does one pass and returns the seconds until the next.

    A pass that raises is logged once, its connections are dropped, and it is repeated after a growing wait: a
    database that is away makes no noise and needs nobody. The thread itself can only end by ``stop`` or
    by what is not an ``Exception``; ``is_alive`` tells, and the worker leaves when one is dead.
    """

    name = "service"
    LONGEST_WAIT_SECONDS = 5.0  # between two tries of a pass that fails
    waits_for_others = False  # a pass may rightly take long: it waits for more than the queue's own statements

    def __init__(self) -> None:
        self._wake = threading.Event()
        self._again_at = 0.0  # a pass that begins before is not the last
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.failures = 0  # passes that failed in a row
        self._pass_began: float | None = None  # by the monotonic clock; None: it waits for its next
        self._broken_off = 0  # in this row of failures
        self._connections: Sequence[Any] = ()  # of its thread

    def run_once(self, now: datetime | None = None) -> float:
        """Do one pass; return the seconds until the next. ``now``: a time to judge by, in tests."""
        raise NotImplementedError

    def on_failure(self, error: Exception) -> None:
        """Called after a pass that raised, with connections closed."""

    def start(self) -> None:
        self._thread = threading.Thread(target=self._loop, name=f"locqueue-{self.name}", daemon=True)
        self._thread.start()

    def wake(self, *, again: bool = False) -> None:
        """Begin the next pass now. ``again``: and one more a moment later, for what came with the same news."""
        if again:
            self._again_at = time.monotonic() + AGAIN_SECONDS
        if not self._wake.is_set():  # the loop clears it before a pass, so that pass will see what we woke it for
            self._wake.set()

    def stop(self, timeout: float | None = None) -> None:
        """End the loop after the pass it is in; wait for it. Safe twice, and before ``start``."""
        self._stopping = True
        self.wake()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    @property
    def is_alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def break_off_after(self, seconds: float) -> None:
        """Break the connections off if this pass has waited longer; each time twice as long, until a pass succeeds.

        For another thread. A server that only waits for a lock goes on with what was broken off, and has a session
        more each time.
        """
        began = self._pass_began
        if not self.waits_for_others and began is not None and time.monotonic() - began > seconds * 2**self._broken_off:
            self._broken_off += 1
            break_off(self._connections)

    def _loop(self) -> None:
        self._connections = connections.all()
        try:
            while not self._stopping:
                self._wake.wait(self._pass())
                self._wake.clear()
        except BaseException:
            logger.critical("The %s stopped by an error that it must not survive.", self.name, exc_info=True)
            raise
        finally:
            connections.close_all()

    def _pass(self) -> float:
        self._pass_began = began = time.monotonic()
        try:
            delay = self.run_once()
            return_to_pool()
        except Exception as error:
            self._pass_began = None
            self.failures += 1
            if self.failures == 1:
                # A database that is away has no story to tell; anything else has.
                trace = not isinstance(error, Error) or logger.isEnabledFor(logging.DEBUG)
                logger.error("The %s failed and goes on trying: %s", self.name, describe(error), exc_info=trace)
            close_connections()
            self.on_failure(error)
            return min(0.1 * 2.0 ** min(self.failures, 10), self.LONGEST_WAIT_SECONDS) * random.uniform(0.8, 1.2)
        self._pass_began = None
        self._broken_off = 0
        reset_queries()  # with DEBUG Django keeps the last 9,000, with all that was written
        if self.failures:
            logger.info("The %s works again after %d failed tries.", self.name, self.failures)
            self.failures = 0
        return min(delay, max(0.0, self._again_at - time.monotonic())) if began < self._again_at else delay


def describe(error: BaseException) -> str:
    """Return the class and the first line of the error's text."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
