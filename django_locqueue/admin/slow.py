"""What is slow: a task that has run for much longer than its like."""

import time
from collections.abc import Mapping
from datetime import timedelta

from django_locqueue.observability.history import recent_tasks
from django_locqueue.store import get_store

KEPT_SECONDS = 60
TIMES_P95 = 3
LEAST_SECONDS = 1  # what ends before a person has read the row is not called slow

_kept: tuple[float, Mapping[str, float]] | None = None  # when it was read, and the seconds by task


def is_slow(task_path: str, ran: timedelta) -> bool:
    """Whether it has run for more than ``TIMES_P95`` times what 95 of 100 took in the last week."""
    usual = _p95_seconds().get(task_path)
    return usual is not None and ran.total_seconds() > max(LEAST_SECONDS, TIMES_P95 * usual)


def _p95_seconds() -> Mapping[str, float]:
    """Return them by task, at most a minute old: the page is asked for every few seconds."""
    global _kept
    if _kept is None or time.monotonic() - _kept[0] > KEPT_SECONDS:
        found = {path: numbers.run_p95 for path, numbers in recent_tasks("7d", now=get_store().now()).items()}
        _kept = time.monotonic(), {path: seconds for path, seconds in found.items() if seconds is not None}
    return _kept[1]


def forget() -> None:
    global _kept
    _kept = None
