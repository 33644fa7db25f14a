"""When a failed try is followed by another, and how long to wait: pure functions."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django_locqueue.exceptions import Cancel, Retry, Snooze
from django_locqueue.policies.numbers import is_number
from django_locqueue.policies.outcome import MESSAGE_LENGTH, ErrorReport, Kind, Outcome, shortened

BACKOFF = {"BASE": 2, "FACTOR": 2, "MAX": 3600, "JITTER": 0.1}  # seconds, times, seconds, share
LONGEST_SECONDS = 10 * 366 * 86400  # ten years; a datetime cannot hold every finite number


def exponential(attempt: int, backoff: Mapping[str, float] = BACKOFF, *, jitter: float | None = None) -> float:
    """Return seconds to wait after ``attempt`` (from 1): BASE, then FACTOR times as long each, at most MAX.

    ``jitter``: a number in [-1, 1] instead of a random one; the wait is spread by that share of JITTER.
    No attempt number overflows.
    """
    base, factor, most = backoff["BASE"], backoff["FACTOR"], backoff["MAX"]
    steps = max(0, attempt - 1)
    try:
        wait = min(base * float(factor) ** steps, most)  # a float: a whole number would grow for minutes
    except OverflowError:
        wait = most if base > 0 else 0.0
    spread = random.uniform(-1, 1) if jitter is None else jitter
    return min(most, max(0.0, wait * (1 + backoff["JITTER"] * spread)))


def sane(seconds: Any, *, otherwise: float) -> float:
    """Return what user code gave as a wait in seconds, or ``otherwise`` if that is no time to wait."""
    return float(seconds) if is_number(seconds, 0, LONGEST_SECONDS) else otherwise


def exhausted(*, attempt: int, crashes: int, max_attempts: int) -> bool:
    """Whether no attempt is left. A try that died with its worker is not charged to the task."""
    return attempt - crashes >= max_attempts


def after_error(
    error: BaseException,
    *,
    exhausted: bool,
    retry_on: tuple[type[BaseException], ...],
    backoff: Callable[[], float],
    longest: float,
) -> Outcome:
    """Return what follows from an exception that a task raised.

    ``exhausted``: no attempt is left. ``backoff``: gives the seconds to wait, called only when the task is retried.
    ``longest``: the seconds to wait where the task named none that can be waited.
    """
    match error:
        case Snooze(seconds=seconds):
            return Outcome(Kind.SNOOZED, delay=sane(seconds, otherwise=longest))
        case Cancel():
            return Outcome(Kind.CANCELLED, error=ErrorReport.of(error), exception=error)
    report = ErrorReport.of(error)
    if exhausted and isinstance(error, Retry):
        report = replace(report, message=shortened(f"no attempts left: {report.message}", MESSAGE_LENGTH))
    if exhausted or not isinstance(error, (*retry_on, Retry)):
        return Outcome(Kind.FAILED, error=report, exception=error)
    after = error.after if isinstance(error, Retry) else None
    return Outcome(Kind.RETRIED, error=report, delay=sane(after, otherwise=longest) if after is not None else backoff())
