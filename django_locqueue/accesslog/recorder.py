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

from asgiref.sync import sync_to_async
from django.db import DataError, Error, IntegrityError, close_old_connections, connections

from django_locqueue import QueueFull
from django_locqueue.accesslog.conf import access_log, until_settings_change
from django_locqueue.accesslog.delivery import aenqueue_hits, enqueue_hits
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.privacy.visitor_keys import VisitorKeys, visitor_keys
from django_locqueue.accesslog.raw_hit import RawHit
from django_locqueue.accesslog.throttled import ThrottledLogger

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"))

LONGEST_BACKOFF_SECONDS = 60.0

# Trouble that passes: everything is kept and tried again. Whatever else the queue raises is about what it was given,
# and would be raised for ever.
OUTAGE = (Error, OSError, QueueFull)
REFUSAL = (DataError, IntegrityError)  # database errors that are about the values, too


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
        interval=float(access_log.INTERVAL),
        exit_timeout=float(access_log.EXIT_TIMEOUT),
        drop_new=access_log.OVERFLOW == "drop_new",
    )


@dataclass(slots=True)
class Counts:
    """What became of this process's hits. Read by whoever wants to know; a thread's race may lose a one."""

    sent: int = 0
    dropped: int = 0  # the buffer was full
    refused: int = 0  # could not be cleaned, or the queue would never take it
    failures: int = 0  # tries to enqueue that failed, because the database could not be used
    full: int = 0  # and because the queue held as many tasks as its MAX_PENDING allows
    errors: int = 0  # requests that could not be made into a hit


class Recorder:
    """``record(hit)`` in a request; ``flush()`` for servers of your own; ``drain(timeout)`` before the process ends."""

    def __init__(
        self,
        send: Callable[[list[Hit]], None] = enqueue_hits,
        asend: Callable[[list[Hit]], Awaitable[None]] = aenqueue_hits,
        keys: VisitorKeys | None = None,
    ) -> None:
        self._send = send
        self._asend = asend
        self._keys = keys  # None: they are loaded by somebody else, or not at all
        self._begin()

    def _begin(self) -> None:
        """Start empty: at first, and in a forked child, whose hits so far are the parent's to send."""
        self.counts = Counts()
        self._pid = os.getpid()
        self._hits: deque[RawHit | Hit] = deque()
        # The batch that is being sent; kept, with the ids of its hits, until that worked: a try that failed may have
        # reached the database all the same.
        self._unsent: list[Hit] = []
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

    def record(self, hit: RawHit | Hit) -> None:
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
        if self._thread is None:  # it says so itself when it ends
            self._start_thread()
        # During an outage the thread waits out its backoff however full the buffer is.
        if len(hits) >= limits.batch and not self._outage and not self._wake.is_set():
            self._wake.set()

    def record_now(self, raw: RawHit) -> None:
        """Enqueue the hit in the request. If that fails it is buffered, as are all until the queue is back."""
        if self._outage:
            return self.record(raw)
        if self._keys is not None:
            self._keys.load()
        hit = raw.clean()
        try:
            self._send([hit])
            self.counts.sent += 1
        except Exception as error:
            self._note_failed(hit, error)

    async def arecord_now(self, raw: RawHit) -> None:
        """``record_now`` on an event loop."""
        if self._outage:
            return self.record(raw)
        if self._keys is not None and self._keys.is_due():
            await sync_to_async(self._keys.load)()
        hit = raw.clean()
        try:
            await self._asend([hit])
            self.counts.sent += 1
        except Exception as error:
            self._note_failed(hit, error)

    def _note_failed(self, hit: Hit, error: Exception) -> None:
        if is_outage(error):
            self._note_outage(error)
            self.record(hit)
        else:
            self._note_refusal()

    def flush(self) -> bool:
        """Send what is buffered, in this thread; return whether all is sent. What failed is kept."""
        with self._sending:
            if self._keys is not None:
                self._keys.load()
            # What comes in meanwhile waits for its own interval: else a busy site's tasks hold a handful of hits each.
            for _ in range(-(-self.buffered // current_limits().batch)):
                self._take_batch()
                if not self._send_batch():
                    return False
            return True

    def _send_batch(self) -> bool:
        """Enqueue the batch; return False if the queue is away. A hit that it refuses is dropped, and it alone."""
        size = len(self._unsent)
        while self._unsent:
            part = self._unsent[:size]
            try:
                self._send(part)
                self.counts.sent += len(part)
                size *= 2
            except Exception as error:
                if is_outage(error):
                    self._note_outage(error)
                    return False
                if len(part) > 1:  # the bad one is found by halving, and what is around it goes out on the way
                    size = len(part) // 2
                    continue
                self._note_refusal()
            del self._unsent[: len(part)]
            self._outage = 0
        return True

    def drain(self, timeout: float | None = None) -> bool:
        """Have the thread send what is buffered; wait for ``timeout`` seconds, by default ``EXIT_TIMEOUT``.

        Return whether all is sent. The thread does it and not the caller, since a database that is down can hold a
        connection attempt longer than a server waits for its processes to end.
        """
        if self._pid != os.getpid() or not self.buffered:
            return True
        deadline = time.monotonic() + (current_limits().exit_timeout if timeout is None else timeout)
        while self.buffered and (left := deadline - time.monotonic()) > 0:
            if self._thread is None or not self._thread.is_alive():
                return self.flush()
            failed = self.counts.failures + self.counts.full
            self._flushed.clear()
            self._wake.set()
            self._flushed.wait(left)
            if self.counts.failures + self.counts.full != failed:
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

    def _take_batch(self) -> None:
        """Fill the batch up from the buffer, cleaning on the way what the requests left raw."""
        size = current_limits().batch
        while len(self._unsent) < size and self._hits:
            try:
                hit = self._hits.popleft()
            except IndexError:  # a full buffer's request dropped it first
                break
            try:
                self._unsent.append(hit if isinstance(hit, Hit) else hit.clean())
            except Exception:
                self._note_refusal()

    def _note_outage(self, error: Exception) -> None:
        self._outage += 1
        if isinstance(error, QueueFull):
            self.counts.full += 1
            logger.warning("Logged requests are kept and tried again. %s", error)
        else:
            self.counts.failures += 1
            logger.failure("Logged requests could not be enqueued; they are kept and tried again.")

    def _note_refusal(self) -> None:
        self.counts.refused += 1
        logger.failure("A request could not be logged and was left out.")

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None:
                self._stopping = False
                thread = self._thread = threading.Thread(target=self._run, name="locqueue-accesslog", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has no thread to give now
                    self._thread = None
                    raise

    def _run(self) -> None:
        try:
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
        finally:
            self._thread = None  # whatever ended it: the next hit starts another

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


def is_outage(error: Exception) -> bool:
    """Whether the queue cannot be used now, rather than refuses what it was given."""
    return isinstance(error, OUTAGE) and not isinstance(error, REFUSAL)


recorder = Recorder(keys=visitor_keys)


def flush() -> bool:
    """Send the buffered hits now, in this thread; return whether all were sent."""
    return recorder.flush()


def _at_exit() -> None:
    if not recorder.drain():
        logger.warning("%d logged requests were lost: the process ended before they could be sent.", recorder.buffered)


os.register_at_fork(after_in_child=recorder._begin)
atexit.register(_at_exit)
