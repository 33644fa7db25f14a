"""The sentences that a worker writes: one file words every event."""

import logging
import threading
import time
from typing import Any

from django.dispatch import Signal

from django_locqueue import signals
from django_locqueue.policies.outcome import Kind

task_logger = logging.getLogger("django_locqueue.task")
worker_logger = logging.getLogger("django_locqueue.worker")


class WorkerLog:
    """Listens to the signals of this process and logs them. ``connect`` and ``disconnect`` come in pairs."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.counts = dict.fromkeys(("done", "retried", "failed", "put back"), 0)
        self._lock = threading.Lock()
        self._receivers: list[tuple[Signal, Any]] = [
            (signals.attempt_ended, self.attempt_ended),
            (signals.task_rescued, self.task_rescued),
            (signals.lease_lost, self.lease_lost),
            (signals.worker_idle, self.worker_idle),
            (signals.worker_stopping, self.worker_stopping),
            (signals.worker_stopped, self.worker_stopped),
        ]

    def connect(self) -> None:
        for signal, receiver in self._receivers:
            signal.connect(receiver)

    def disconnect(self) -> None:
        for signal, receiver in self._receivers:
            signal.disconnect(receiver)

    def attempt_ended(self, *, claimed: Any, outcome: Any, seconds: float, **kwargs: Any) -> None:
        word, counted, level = _ENDINGS[outcome.kind]
        if outcome.kind is Kind.RELEASED and (not seconds or outcome.columns):
            # It never began: an affair of the worker's own, whose pace changed, who leaves, or who does not know it and
            # has said so.
            level = logging.DEBUG
        if counted:
            self._count(counted)
        if task_logger.isEnabledFor(level):
            exception = outcome.exception if outcome.kind is Kind.FAILED else None
            self._line(level, word, claimed, seconds, _story(claimed, outcome), exception)

    def task_rescued(self, *, task_id: int, worker_name: str, state: str, crashes: int, **kwargs: Any) -> None:
        worker_logger.warning(
            "rescue #%d: worker %s died while running it (crash %d); it is %s now.",
            task_id,
            worker_name,
            crashes,
            state,
        )

    def lease_lost(self, *, claimed: Any, **kwargs: Any) -> None:
        worker_logger.warning(
            "lease lost: %s #%d is no longer this worker's (claim %d); its outcome is dropped.",
            claimed.name,
            claimed.id,
            claimed.claim_no,
        )

    def worker_idle(self, *, due: float | None, **kwargs: Any) -> None:
        scheduled = "nothing scheduled" if due is None else f"next scheduled in {span(max(0.0, due))}"
        worker_logger.info("idle   %s   (%s)", scheduled, self.summary())

    def worker_stopping(self, *, running: int, grace: float, **kwargs: Any) -> None:
        if running:
            worker_logger.info(
                "stop   finishing %d task%s, up to %s. Press Ctrl+C again to stop at once.",
                running,
                "" if running == 1 else "s",
                span(grace),
            )

    def worker_stopped(self, *, released: int, **kwargs: Any) -> None:
        self._count("put back", released)
        worker_logger.info("bye    ran %s: %s", span(time.monotonic() - self.began), self.summary())

    def summary(self) -> str:
        return ", ".join(f"{number:,} {word}" for word, number in self.counts.items())

    def _count(self, word: str, number: int = 1) -> None:
        with self._lock:
            self.counts[word] += number

    def _line(self, level: int, word: str, claimed: Any, seconds: float, text: str, error: Any = None) -> None:
        task_logger.log(
            level,
            "%-6s %s  %s  %s  %s",
            word,
            safe(f"{claimed.name} #{claimed.id}").ljust(24),
            safe(claimed.queue_name).ljust(8),
            span(seconds).rjust(6),
            safe(text),
            exc_info=error,
        )


# The word of the line, the count that it is in, and the level.
_ENDINGS = {
    Kind.SUCCESSFUL: ("done", "done", logging.INFO),
    Kind.RETRIED: ("retry", "retried", logging.WARNING),
    Kind.FAILED: ("failed", "failed", logging.ERROR),
    Kind.CANCELLED: ("cancel", "", logging.INFO),
    Kind.SNOOZED: ("snooze", "", logging.INFO),
    Kind.RELEASED: ("release", "put back", logging.INFO),
}


def _story(claimed: Any, outcome: Any) -> str:
    """Return what a line tells of how an attempt ended."""
    error = f"{last_part(outcome.error.class_path)}: {outcome.error.message}" if outcome.error else ""
    most = claimed.max_attempts + claimed.crashes
    match outcome.kind:
        case Kind.SUCCESSFUL:
            waited = (claimed.last_attempted_at - max(claimed.run_after, claimed.enqueued_at)).total_seconds()
            return f"waited {span(max(0.0, waited))}"
        case Kind.RETRIED:
            return f"attempt {claimed.attempt}/{most}, again in {span(outcome.delay)}  {error}"
        case Kind.FAILED:
            return f"attempt {claimed.attempt}/{max(claimed.attempt, most)}  {error}"
        case Kind.SNOOZED:
            return f"again in {span(outcome.delay)}"
        case Kind.RELEASED:
            return "put back in the queue"
    return error


def span(seconds: float) -> str:
    """Return a time a person reads at a glance: ``0.12s``, ``41.3s``, ``7 min``, ``2 h``."""
    if seconds < 10:
        return f"{seconds:.2f}s".replace(".00s", "s")
    if seconds < 120:
        return f"{seconds:.1f}s".replace(".0s", "s")
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def safe(text: str) -> str:
    """Return one printable line: data must not fake another log line or colour the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def last_part(path: str) -> str:
    return path.rpartition(".")[2]
