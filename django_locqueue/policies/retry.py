"""When a failed try is followed by another, and how long to wait: pure functions."""

import math
import random
from collections.abc import Mapping
from typing import Any

BACKOFF = {"BASE": 2, "FACTOR": 2, "MAX": 3600, "JITTER": 0.1}  # seconds, times, seconds, share


def exponential(attempt: int, backoff: Mapping[str, float] = BACKOFF, *, jitter: float | None = None) -> float:
    """Return seconds to wait after ``attempt`` (from 1): BASE, then FACTOR times as long each, at most MAX.

    ``jitter``: a number in [-1, 1] instead of a random one; the wait is spread by that share of JITTER.
    Clamped before it is raised to a power, so no attempt number overflows (CASES C9).
    """
    base, factor, most = backoff["BASE"], backoff["FACTOR"], backoff["MAX"]
    steps = max(0, attempt - 1)
    if factor > 1 and base > 0 and steps > math.log(max(most / base, 1), factor):
        wait = most
    else:
        wait = min(base * factor**steps, most)
    spread = random.uniform(-1, 1) if jitter is None else jitter  # noqa: S311 - spreads load, keeps no secret
    return min(most, max(0.0, wait * (1 + backoff["JITTER"] * spread)))


def sane(seconds: Any, most: float) -> float:
    """Return what a backoff function gave as a wait of 0…``most`` seconds; anything else becomes ``most``."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds) or seconds < 0:
        return most
    return min(float(seconds), most)


def exhausted(*, attempt: int, crashes: int, max_attempts: int) -> bool:
    """Whether no attempt is left. A try that died with its worker is not charged to the task."""
    return attempt - crashes >= max_attempts
