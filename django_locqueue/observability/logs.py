"""The sentences that a worker writes: one file words every event."""

import json
import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

from django.dispatch import Signal

from django_locqueue import compat, signals
from django_locqueue.models import State
from django_locqueue.policies import masking
from django_locqueue.policies.fingerprint import Place
from django_locqueue.policies.outcome import Kind, shortened

task_logger = logging.getLogger("django_locqueue.task")
worker_logger = logging.getLogger("django_locqueue.worker")

GIVEN_LENGTH = 500  # of arguments in a line


class WorkerLog:
    """Listens to the signals of this process and logs them. ``connect`` and ``disconnect`` come in pairs.

    ``counts``: how the attempts here have ended. ``starts``: a line for each beginning too, and with ``arguments``
    these, masked. What stands in a line stands in its record too, as ``locqueue``.
    """

    def __init__(self, worker_name: str = "", *, starts: bool = False, arguments: bool = False) -> None:
        self.worker_name = worker_name
        self.shows_arguments = arguments
        self.began = time.monotonic()
        self.since = time.strftime("%H:%M")
        self.counts = dict.fromkeys(("done", "retried", "failed", "put back", "cancelled", "snoozed"), 0)
        self._lock = threading.Lock()
        self._receivers: list[tuple[Signal, Any]] = [
            (signals.attempt_ended, self.attempt_ended),
            (signals.task_rescued, self.task_rescued),
            (signals.lease_lost, self.lease_lost),
            (signals.worker_idle, self.worker_idle),
            (signals.worker_stopping, self.worker_stopping),
            (signals.worker_stopped, self.worker_stopped),
        ]
        if starts:  # whose signal is made for whoever listens
            self._receivers.append((compat.task_started, self.task_started))

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
        self._count(counted)
        if not task_logger.isEnabledFor(level):
            return
        exception = outcome.exception if outcome.kind is Kind.FAILED else None
        task_logger.log(
            level,
            "%-6s %s  %s  %s  %s",
            word,
            safe(f"{claimed.name} #{claimed.id}").ljust(24),
            safe(claimed.queue_name).ljust(8),
            span(seconds).rjust(6),
            safe(_story(claimed, outcome)),
            exc_info=exception,
            extra=self._known(f"task.{word}", _facts(claimed, outcome, seconds)),
        )

    def task_started(self, *, task_result: Any, **kwargs: Any) -> None:
        if not task_logger.isEnabledFor(logging.DEBUG):
            return
        task = task_result.task
        given = ""
        if self.shows_arguments:
            given = "  " + safe(masking.mask_text(json.dumps(masking.mask([task_result.args, task_result.kwargs]))))
        task_logger.debug(
            "start  %s  %s  attempt %d%s",
            safe(f"{task.name} #{task_result.id}").ljust(24),
            safe(task.queue_name).ljust(8),
            task_result.attempts,
            shortened(given, GIVEN_LENGTH),
            extra=self._known(
                "task.start", {"task": task.module_path, "id": int(task_result.id), "attempt": task_result.attempts}
            ),
        )

    def task_rescued(self, *, task_id: int, worker_name: str, state: str, crashes: int, **kwargs: Any) -> None:
        if state == State.FAILED:
            self._count("failed")
        worker_logger.warning(
            "rescue #%d: worker %s died while running it (crash %d); it is %s now.",
            task_id,
            worker_name,
            crashes,
            state,
            extra=self._known(
                "task.rescued", {"id": task_id, "lost_worker": worker_name, "crashes": crashes, "state": str(state)}
            ),
        )

    def lease_lost(self, *, claimed: Any, **kwargs: Any) -> None:
        worker_logger.warning(
            "lease lost: %s #%d is no longer this worker's (claim %d); its outcome is dropped.",
            claimed.name,
            claimed.id,
            claimed.claim_no,
            extra=self._known("task.lease_lost", {"task": claimed.task_path, "id": claimed.id}),
        )

    def worker_idle(self, *, due: float | None, **kwargs: Any) -> None:
        scheduled = "nothing scheduled" if due is None else f"next scheduled in {span(max(0.0, due))}"
        worker_logger.info(
            "idle   %s   (since %s: %s)",
            scheduled,
            self.since,
            self.summary(),
            extra=self._known("worker.idle", {"next_s": due}, self.counts),
        )

    def worker_stopping(self, *, running: int, grace: float, **kwargs: Any) -> None:
        if running:
            worker_logger.info(
                "stop   finishing %d task%s, up to %s. Press Ctrl+C again to stop at once.",
                running,
                "" if running == 1 else "s",
                span(grace),
                extra=self._known("worker.stopping", {"running": running, "grace_s": grace}),
            )

    def worker_stopped(self, *, released: int, **kwargs: Any) -> None:
        self._count("put back", released)
        seconds = time.monotonic() - self.began
        worker_logger.info(
            "bye    ran %s: %s",
            span(seconds),
            self.summary(),
            extra=self._known("worker.stopped", {"run_s": round(seconds, 3)}, self.counts),
        )

    def summary(self) -> str:
        """Return the counts in words; the last two only if there are any."""
        always = tuple(self.counts)[:4]
        return ", ".join(f"{number:,} {word}" for word, number in self.counts.items() if number or word in always)

    def _count(self, word: str, number: int = 1) -> None:
        with self._lock:
            self.counts[word] += number

    def _known(self, event: str, facts: Mapping[str, Any], counts: Mapping[str, int] | None = None) -> dict[str, Any]:
        counted = {word.replace(" ", "_"): number for word, number in (counts or {}).items()}
        return {"locqueue": {"event": event, **facts, **counted, "worker": self.worker_name}}


# The word of the line, the count that it is in, and the level.
_ENDINGS = {
    Kind.SUCCESSFUL: ("done", "done", logging.INFO),
    Kind.RETRIED: ("retry", "retried", logging.WARNING),
    Kind.FAILED: ("failed", "failed", logging.ERROR),
    Kind.CANCELLED: ("cancel", "cancelled", logging.INFO),
    Kind.SNOOZED: ("snooze", "snoozed", logging.INFO),
    Kind.RELEASED: ("release", "put back", logging.INFO),
}


def _story(claimed: Any, outcome: Any) -> str:
    """Return what a line tells of how an attempt ended."""
    error = (
        f"{last_part(outcome.error.class_path)}: {masking.mask_text(outcome.error.message)}" if outcome.error else ""
    )
    attempt = f"attempt {claimed.attempt}/{_most(claimed)}"
    match outcome.kind:
        case Kind.SUCCESSFUL:
            return f"waited {span(_waited(claimed))}"
        case Kind.RETRIED:
            return f"{attempt}, again in {span(outcome.delay)}  {error}"
        case Kind.FAILED:
            place = Place.of(outcome.exception.__traceback__) if outcome.exception is not None else None
            return f"{attempt}  {error}" + (f"  at {place}" if place is not None else "")
        case Kind.SNOOZED:
            return f"again in {span(outcome.delay)}"
        case Kind.RELEASED:
            return "put back in the queue"
    return error


def _facts(claimed: Any, outcome: Any, seconds: float) -> dict[str, Any]:
    """Return the same for machines. Times are in seconds."""
    facts = {
        "task": claimed.task_path,
        "id": claimed.id,
        "queue": claimed.queue_name,
        "attempt": claimed.attempt,
        "max": _most(claimed),
        "wait_s": round(_waited(claimed), 3),
        "run_s": round(seconds, 3),
    }
    if outcome.kind in (Kind.RETRIED, Kind.SNOOZED):
        facts["again_s"] = round(outcome.delay, 3)
    if outcome.error:
        facts |= {"error": outcome.error.class_path, "message": masking.mask_text(outcome.error.message)}
    return facts


def _most(claimed: Any) -> int:
    return int(max(claimed.attempt, claimed.max_attempts + claimed.crashes))


def _waited(claimed: Any) -> float:
    waited = claimed.last_attempted_at - max(claimed.run_after, claimed.enqueued_at)
    return max(0.0, float(waited.total_seconds()))


def span(seconds: float) -> str:
    """Return a time a person reads at a glance: ``0.12s``, ``41.3s``, ``7 min``, ``2 h``."""
    if seconds < 10:
        return f"{seconds:.2f}s".replace(".00s", "s")
    if seconds < 120:
        return f"{seconds:.1f}s".replace(".0s", "s")
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def duration(seconds: float) -> str:
    """Return a time in words, in tables and sentences: ``0.9 s``, ``3 s``, ``4 min``, ``2 h``, ``3 days``."""
    if seconds < 2:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "min"), (48 * 3600, 3600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86400:,.0f} days"


def safe(text: str) -> str:
    """Return one printable line: data must not fake another log line or colour the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def last_part(path: str) -> str:
    return path.rpartition(".")[2]
