"""Time travel: what the queue asks its clock is answered from another time."""

from contextlib import ContextDecorator
from datetime import datetime, timedelta
from types import TracebackType

from django_locqueue import clock
from django_locqueue.store import get_store


class travel(ContextDecorator):  # noqa: N801 - it is used as a function
    """Put the queue's clock forward for a block, or for a function: ``with travel(60):``.

    ``to``: seconds or a timedelta from the queue's present time, or the moment to go to (aware if ``USE_TZ`` is set).
    The clock goes on from there. It is the queue's clock alone: due times, retries, leases, schedules. What Python says
    is the time (``timezone.now()``) stays.
    """

    def __init__(self, to: float | timedelta | datetime) -> None:
        if isinstance(to, bool) or not isinstance(to, int | float | timedelta | datetime):
            raise TypeError(f"travel() takes seconds, a timedelta or a datetime, got {to!r}.")
        self.to = to
        self._came_from: list[float] = []

    def __enter__(self) -> "travel":
        self._came_from.append(clock.seconds_ahead())
        clock.put_forward(self._came_from[-1] + self._seconds())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        clock.put_forward(self._came_from.pop())

    def _seconds(self) -> float:
        if isinstance(self.to, datetime):
            return (clock.storable(self.to) - get_store().now()).total_seconds()
        return self.to.total_seconds() if isinstance(self.to, timedelta) else float(self.to)
