"""The bounded buffer of hits, and the thread that makes tasks of them.

A request pays one append. The thread is started by the first hit and not at import, so that a server that forks
afterwards, and a management command that serves nothing, have none.
"""

import atexit
import logging
import os
import random
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from django.db import close_old_connections, connections

from django_locqueue.accesslog.conf import access_log, until_settings_change
from django_locqueue.accesslog.delivery import aenqueue_hits, enqueue_hits
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.throttled import ThrottledLogger

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"))

LONGEST_BACKOFF_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    buffer_size: int
    batch: int
    interval: float
    exit_timeout: float
    drop_new: bool


@until_settings_change
def current_limits() -> Limits:
    """Return the limits of the present settings."""
    return Limits(
        buffer_size=max(1, int(access_log.BUFFER_SIZE)),
        batch=max(1, int(access_log.BATCH)),
        interval=float(access_log.INTERVAL_SECONDS),
        exit_timeout=float(access_log.EXIT_TIMEOUT_SECONDS),
        drop_new=access_log.OVERFLOW == "drop_new",
    )


@dataclass(slots=True)
class Counts:
    """What became of this process's hits. Read by whoever wants to know; a thread's race may lose a one."""

    sent: int = 0
    dropped: int = 0  # the buffer was full
    failures: int = 0  # tries to enqueue a batch that failed
    errors: int = 0  # requests that could not be made into a hit


class Recorder:
    """``record(hit)`` in a request; ``flush()`` for servers of your own; ``drain(timeout)`` before the process ends."""

    def __init__(
        self,
        send: Callable[[list[Hit]], None] = enqueue_hits,
        asend: Callable[[list[Hit]], Awaitable[None]] = aenqueue_hits,
    ) -> None:
        self._send = send
        self._asend = asend
        self._begin()

    def _begin(self) -> None:
        """Start empty: at first, and in a forked child, whose hits so far are the parent's to send."""
        self.counts = Counts()
        self._pid = os.getpid()
        self._hits: deque[Hit] = deque()
        self._unsent: list[Hit] = []  # the batch that is being sent; kept until that worked
        self._outage = 0  # failed tries since the last that worked
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._sending = threading.Lock()
        self._stopping = False
        self._wake = threading.Event()
        self._flushed = threading.Event()

    @property
    def buffered(self) -> int:
        """How many hits wait to be sent."""
        return len(self._hits) + len(self._unsent)

    def record(self, hit: Hit) -> None:
        """Buffer the hit. Microseconds; past ``BUFFER_SIZE`` one is dropped and counted."""
        if self._pid != os.getpid():  # forked by C code that did not tell Python
            self._begin()
        limits = current_limits()
        hits = self._hits
        if len(hits) >= limits.buffer_size:
            self.counts.dropped += 1
            logger.warning("%d requests were not logged (buffer full).", self.counts.dropped)
            if limits.drop_new:
                return
            with suppress(IndexError):  # the thread took them all just now
                hits.popleft()
        hits.append(hit)
        if self._thread is None or not self._thread.is_alive():
            self._start_thread()
        # During an outage the thread waits out its backoff however full the buffer is.
        if len(hits) >= limits.batch and not self._outage and not self._wake.is_set():
            self._wake.set()

    def record_now(self, hit: Hit) -> None:
        """Enqueue the hit in the request. If that fails it is buffered, as are all until the queue is back."""
        if not self._outage:
            try:
                self._send([hit])
                self.counts.sent += 1
                return
            except Exception:
                self._note_failure()
        self.record(hit)

    async def arecord_now(self, hit: Hit) -> None:
        """``record_now`` on an event loop."""
        if not self._outage:
            try:
                await self._asend([hit])
                self.counts.sent += 1
                return
            except Exception:
                self._note_failure()
        self.record(hit)

    def flush(self) -> bool:
        """Send what is buffered, in this thread; return whether all is sent. What failed is kept."""
        with self._sending:
            # What comes in meanwhile waits for its own interval: else a busy site's tasks hold a handful of hits each.
            batches = -(-self.buffered // current_limits().batch)
            for batch in (self._next_batch() for _ in range(batches)):
                try:
                    self._send(batch)
                except Exception:
                    self._note_failure()
                    return False
                self.counts.sent += len(batch)
                self._unsent = []
                self._outage = 0
            return True

    def drain(self, timeout: float | None = None) -> bool:
        """Have the thread send what is buffered; wait for ``timeout`` seconds, by default ``EXIT_TIMEOUT_SECONDS``.

        Return whether all is sent. The thread does it and not the caller, since a database that is down can hold a
        connection attempt longer than a server waits for its processes to end.
        """
        if self._pid != os.getpid() or not self.buffered:
            return True
        deadline = time.monotonic() + (current_limits().exit_timeout if timeout is None else timeout)
        while self.buffered and (left := deadline - time.monotonic()) > 0:
            if self._thread is None or not self._thread.is_alive():
                return self.flush()
            failures = self.counts.failures
            self._flushed.clear()
            self._wake.set()
            self._flushed.wait(left)
            if self.counts.failures != failures:
                break
        return not self.buffered

    def stop(self, timeout: float | None = None) -> bool:
        """Drain, and end the thread; return whether all is sent. Safe twice; the next hit starts a new thread."""
        drained = self.drain(timeout)
        thread = self._thread
        if thread is not None and thread.is_alive():
            self._stopping = True
            self._wake.set()
            thread.join(current_limits().exit_timeout if timeout is None else timeout)
        return drained

    def _next_batch(self) -> list[Hit]:
        size = current_limits().batch
        while len(self._unsent) < size and self._hits:
            try:
                self._unsent.append(self._hits.popleft())
            except IndexError:  # a full buffer's request dropped it first
                break
        return self._unsent

    def _note_failure(self) -> None:
        self.counts.failures += 1
        self._outage += 1
        logger.failure("Logged requests could not be enqueued; they are kept and tried again.")

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._stopping = False
                self._thread = threading.Thread(target=self._run, name="locqueue-accesslog", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._stopping:
            self._wake.wait(self._pause())
            self._wake.clear()
            try:
                if self.buffered:
                    self._flush_with_own_connections()
            except Exception:  # a thread that dies here would lose every hit from now on
                logger.failure("Sending logged requests failed.")
            self._flushed.set()
        connections.close_all()

    def _flush_with_own_connections(self) -> None:
        close_old_connections()  # the server may have closed it since
        if self.flush():
            close_old_connections()
        else:
            connections.close_all()  # a broken one would fail the next try too

    def _pause(self) -> float:
        if not self._outage:
            return current_limits().interval
        # Jitter, since every process of the site lost the database in the same second.
        backoff = min(LONGEST_BACKOFF_SECONDS, 2.0 ** min(self._outage - 1, 10))
        return backoff * random.uniform(0.75, 1.0)


recorder = Recorder()


def flush() -> bool:
    """Send the buffered hits now, in this thread; return whether all were sent."""
    return recorder.flush()


def _at_exit() -> None:
    if not recorder.drain():
        logger.warning("%d logged requests were lost: the process ended before they could be sent.", recorder.buffered)


os.register_at_fork(after_in_child=recorder._begin)
atexit.register(_at_exit)
