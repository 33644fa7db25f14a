"""Time travel: what the queue asks its clock is answered from another time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django_locqueue import clock
from django_locqueue.store import get_store

if TYPE_CHECKING:  # the one type that is a context manager and a decorator; it has no public name
    from contextlib import _GeneratorContextManager


def travel(to: float | timedelta | datetime) -> "_GeneratorContextManager[None]":
    """Put the queue's clock forward for a block, or for a function: ``with travel(60):``.

    ``to``: seconds or a timedelta from the queue's present time, or the moment to go to (aware if ``USE_TZ`` is set).
    The clock goes on from there. It is the queue's clock alone: due times, retries, leases, schedules. What Python says
    is the time (``timezone.now()``) stays.
    """
    if isinstance(to, bool) or not isinstance(to, int | float | timedelta | datetime):
        raise TypeError(f"travel() takes seconds, a timedelta or a datetime, got {to!r}.")
    return _travel(to)


@contextmanager
def _travel(to: float | timedelta | datetime) -> Iterator[None]:
    if isinstance(to, datetime):
        to = clock.storable(to) - get_store().now()
    came_from = clock.seconds_ahead()
    clock.put_forward(came_from + (to.total_seconds() if isinstance(to, timedelta) else to))
    try:
        yield
    finally:
        clock.put_forward(came_from)
