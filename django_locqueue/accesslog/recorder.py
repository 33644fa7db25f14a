"""The bounded buffer of hits, and the thread that sends them.

A request pays one append. The thread is started by the first hit and not at import, so that a server that forks
afterwards, and a management command that serves nothing, have none.
"""

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections

from django_locqueue.accesslog.conf import access_log, until_settings_change
from django_locqueue.accesslog.delivery import adeliver, deliver, deliver_loss
from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.outbox import LONGEST_BACKOFF_SECONDS, Counts, LossReport, Outbox, is_outage, logger
from django_locqueue.accesslog.privacy.visitor_keys import VisitorKeys, visitor_keys
from django_locqueue.accesslog.raw_hit import Captured, RawHit
from django_locqueue.accesslog.spool import Spool
from django_locqueue.accesslog.spooling import Spooling

# A spool is filled by a thread, and requests go on meanwhile: it is started before the buffer is full.
SPOOLED_FROM = 0.75


@dataclass(frozen=True, slots=True)
class RecorderLimits:
    """Sizes are in hits, times in seconds."""

    buffer_size: int
    crowded: int  # a buffer that holds as many needs room
    batch: int
    interval: float
    exit_timeout: float
    drop_new: bool
    to_log: bool  # hits become lines of the log, and no task
    spool: Spool | None


@until_settings_change
def current_limits() -> RecorderLimits:
    """Return the limits of the present settings."""
    buffer_size = max(1, int(access_log.BUFFER_SIZE))
    spool = Spool(Path(access_log.SPOOL_DIR)) if access_log.OVERFLOW == "spool" and access_log.SPOOL_DIR else None
    return RecorderLimits(
        buffer_size=buffer_size,
        crowded=buffer_size if spool is None else max(1, int(buffer_size * SPOOLED_FROM)),
        batch=max(1, int(access_log.BATCH)),
        interval=float(access_log.INTERVAL),
        exit_timeout=float(access_log.EXIT_TIMEOUT),
        drop_new=access_log.OVERFLOW == "drop_new",
        to_log=access_log.BACKEND == "logging",
        spool=spool,
    )


class Recorder:
    """``record(hit)`` in a request; ``flush()`` for servers of your own; ``drain(timeout)`` before the process ends."""

    def __init__(
        self,
        send: Callable[[list[Hit]], None] = deliver,
        asend: Callable[[list[Hit]], Awaitable[None]] = adeliver,
        send_loss: Callable[..., None] = deliver_loss,
        keys: VisitorKeys | None = None,
    ) -> None:
        self._send = send
        self._asend = asend
        self._send_loss = send_loss
        self._keys = keys  # None: they are loaded by somebody else, or not at all
        self._begin()

    def _begin(self) -> None:
        """Start empty: at first, and in a forked child, whose hits so far are the parent's to send."""
        self.counts = Counts()
        self._pid = os.getpid()
        self._hits: deque[Captured] = deque()
        self._outbox = Outbox(self.counts)
        self._spooling = Spooling(self._hits, self._outbox)
        self._losses = LossReport(self.counts)
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._stopping = False
        self._wake = threading.Event()
        self._flushed = threading.Event()

    @property
    def buffered(self) -> int:
        """How many hits wait to be sent."""
        return len(self._hits) + len(self._outbox.batch)

    def record(self, hit: Captured) -> None:
        """Buffer the hit. Microseconds; past ``BUFFER_SIZE`` one is dropped and counted, unless it can be spooled."""
        if self._pid != os.getpid():  # forked by C code that did not tell Python
            self._begin()
        limits = current_limits()
        hits = self._hits
        if len(hits) >= limits.crowded and not self._make_room(limits):
            return
        hits.append(hit)
        if self._thread is None:  # it says so itself when it ends
            self._start_thread()
        # During an outage the thread waits out its backoff however full the buffer is.
        if len(hits) >= limits.batch and not self._outbox.outage and not self._wake.is_set():
            self._wake.set()

    def _make_room(self, limits: RecorderLimits) -> bool:
        """Return whether there is room for one more hit; have it made, or drop the oldest, as ``OVERFLOW`` says."""
        if limits.spool is not None:
            self._spooling.begin(limits.spool, limits.batch, leave=limits.buffer_size // 4)
            if len(self._hits) < limits.buffer_size:
                return True
        self.counts.dropped += 1
        logger.warning("%d requests were not logged (buffer full).", self.counts.dropped)
        if limits.drop_new:
            return False
        with suppress(IndexError):  # the thread took them all just now
            self._hits.popleft()
        return True

    def record_now(self, raw: RawHit) -> None:
        """Enqueue the hit in the request. If that fails it is buffered, as are all until the queue is back."""
        if self._outbox.outage:
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
        if self._outbox.outage:
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
            self._outbox.note_outage(error)
            self.record(hit)
        else:
            self._outbox.note_refusal()
            self._has_thread()  # the thread tells the database, though it may get no hit to send

    def note_error(self) -> None:
        """Count a request that could not be made into a hit."""
        self.counts.errors += 1
        self._has_thread()  # the thread tells the database, though it may get no hit to send

    def flush(self) -> bool:
        """Send what is buffered, in this thread; return whether all is sent. What failed is kept."""
        limits = current_limits()
        if self._keys is not None and not limits.to_log:  # lines in a log wait for no database
            self._keys.load()
        with self._outbox.lock:
            size = limits.batch
            # What comes in meanwhile waits for its own interval: else a busy site's tasks hold a handful of hits each.
            for _ in range(-(-self.buffered // size)):
                self._outbox.fill(self._hits, size)
                if not self._outbox.send(self._send):
                    return False
            return True

    def drain(self, timeout: float | None = None) -> bool:
        """Have the thread send what is buffered; wait for ``timeout`` seconds, by default ``EXIT_TIMEOUT``.

        Return whether all is sent, or spooled. The thread does it and not the caller, since a database that is down
        can hold a connection attempt longer than a server waits for its processes to end.
        """
        if self._pid != os.getpid():
            return True
        limits = current_limits()
        deadline = time.monotonic() + (limits.exit_timeout if timeout is None else timeout)
        self._spooling.wait(deadline)
        while self.buffered and (left := deadline - time.monotonic()) > 0:
            if not self._has_thread():  # not sent from here: see above
                break
            failed = self.counts.failures + self.counts.full
            self._flushed.clear()
            self._wake.set()
            self._flushed.wait(left)
            if self.counts.failures + self.counts.full != failed:
                break
        # The thread may still wait for a database that says nothing. What it has in hand is spooled too, and stored
        # once if it comes through after all.
        return not self.buffered or (limits.spool is not None and self._spooling.keep_all(limits.spool, limits.batch))

    def stop(self, timeout: float | None = None) -> bool:
        """Drain, and end the thread; return whether all is sent. Safe twice; the next hit starts a new thread."""
        drained = self.drain(timeout)
        thread = self._thread
        if thread is not None and thread.is_alive():
            self._stopping = True
            self._wake.set()
            thread.join(current_limits().exit_timeout if timeout is None else timeout)
        return drained

    def _has_thread(self) -> bool:
        """Have the thread started if it does not run; return whether it does."""
        if self._thread is None:
            with suppress(RuntimeError):  # the system has none to give; the next who needs it tries again
                self._start_thread()
        return self._thread is not None and self._thread.is_alive()

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
                    self._work()
                except Exception:  # a thread that dies here would lose every hit from now on
                    logger.failure("Sending logged requests failed.")
                    self._losses.send(self._send_loss)  # which needs no settings: those may be what fails
                self._flushed.set()
            connections.close_all()
        finally:
            self._thread = None  # whatever ended it: the next hit starts another

    def _work(self) -> None:
        """Do what there is to do: send the buffer, what was spooled, and how many were lost."""
        close_old_connections()  # the server may have closed it since
        limits = current_limits()
        sent = self.flush() and (limits.spool is None or self._spooling.send(limits.spool, self._send, limits.batch))
        if sent and self._losses.send(self._send_loss):
            close_old_connections()
            return
        connections.close_all()  # a broken one would fail the next try too
        if limits.spool is not None:
            self._spooling.keep_all(limits.spool, limits.batch)

    def _pause(self) -> float:
        try:
            return self._outbox.backoff() if self._outbox.outage else current_limits().interval
        except (
            Exception
        ):  # settings that fail here fail each request: a thread that died of them would be started by each
            return LONGEST_BACKOFF_SECONDS


recorder = Recorder(keys=visitor_keys)


def flush() -> bool:
    """Send the buffered hits now, in this thread; return whether all were sent."""
    return recorder.flush()


def _at_exit() -> None:
    if not recorder.drain():
        logger.warning("%d logged requests were lost: the process ended before they could be sent.", recorder.buffered)


os.register_at_fork(after_in_child=recorder._begin)
atexit.register(_at_exit)
