"""Back-pressure: a queue that holds ``MAX_PENDING`` tasks takes no more."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

from django.core import checks
from django.core.signals import setting_changed

from django_locqueue.conf import did_you_mean
from django_locqueue.connections import close_connections
from django_locqueue.exceptions import QueueFull
from django_locqueue.models.task import NAME_LENGTH
from django_locqueue.policies.numbers import is_whole
from django_locqueue.service import rest_after
from django_locqueue.store import Call

logger = logging.getLogger("django_locqueue")

LOOK_SECONDS = 0.25
SHORT_SECONDS = 0.02  # what a look may add to a request
_ID = "locqueue.E031"
MOST_PENDING = 1_000_000  # to count so many takes a tenth of a second


class PendingLimit:
    """The limit of one queue, as this process knows it.

    The database is asked at most every ``LOOK_SECONDS``, and no more than a twentieth of the time. Between two looks
    the calls of this process are counted on top. So the queue is over its limit at most by what other processes enqueue
    between two looks, and by what is not committed at a look.

    A look counts no further than the limit, yet reads past what has ended where an old transaction keeps the database
    from forgetting it. So after one that took long the next is made on a thread of its own, and no call waits for it.
    """

    def __init__(self, queue_name: str, limit: int) -> None:
        self.queue_name = queue_name
        self.limit = limit
        self._pending = 0
        self._admitted = 0  # ever, without what was given back
        self._look_at = 0.0
        self._took = 0.0  # the last look
        self._looker: threading.Thread | None = None
        self._lock = threading.Lock()

    def admit(self, count: int, look: Callable[[str, int], int]) -> None:
        """Count ``count`` calls that are about to be stored. Raises :class:`QueueFull` if the queue has no room for
        all.

        ``look(queue_name, most)`` asks the database.
        """
        self._look_if_due(look)
        with self._lock:
            if self._pending + count > self.limit:
                raise QueueFull(self.queue_name, self.limit, self._pending, count)
            self._pending += count
            self._admitted += count

    def give_back(self, count: int) -> None:
        """Of what was admitted, so many were not stored. What a look meanwhile has left out is right at the next."""
        with self._lock:
            self._pending = max(0, self._pending - count)
            self._admitted -= count

    def _look_if_due(self, look: Callable[[str, int], int]) -> None:
        with self._lock:
            now = time.monotonic()
            if now < self._look_at or (self._looker is not None and self._looker.is_alive()):
                return
            # One thread looks. The others go on with what is known, and none waits for the database under the lock.
            self._look_at = now + LOOK_SECONDS
            admitted = self._admitted
            if self._took > SHORT_SECONDS:
                self._looker = threading.Thread(
                    target=self._look_aside, args=(look, admitted), name="locqueue-pending", daemon=True
                )
                with suppress(RuntimeError):  # the process ends and begins no thread any more
                    self._looker.start()
                return
        self._look(look, admitted)

    def _look(self, look: Callable[[str, int], int], admitted: int) -> None:
        began = time.monotonic()
        pending = look(self.queue_name, self.limit)
        ended = time.monotonic()
        with self._lock:
            # What was admitted meanwhile may be in the count or not.
            self._pending = pending + self._admitted - admitted
            self._took = ended - began
            self._look_at = ended + max(LOOK_SECONDS, rest_after(self._took))

    def _look_aside(self, look: Callable[[str, int], int], admitted: int) -> None:
        try:
            self._look(look, admitted)
        except Exception:
            logger.warning("What waits in the queue %r could not be counted.", self.queue_name, exc_info=True)
        finally:
            close_connections()


_limits: dict[tuple[str, str, int], PendingLimit] = {}


def pending_limits(database: str, limits: Mapping[str, int]) -> dict[str, PendingLimit]:
    """Return the limits by queue. One object each for the whole process: Django makes a backend for each thread."""
    return {
        queue_name: _limits.setdefault((database, queue_name, limit), PendingLimit(queue_name, limit))
        for queue_name, limit in limits.items()
    }


def _forget(*, setting: str, **_: Any) -> None:
    if setting == "TASKS":
        _limits.clear()


setting_changed.connect(_forget)


def admit(calls: Iterable[Call], limits: Mapping[str, PendingLimit], look: Callable[[str, int], int]) -> None:
    """Raise :class:`QueueFull` if the calls would not fit. One whose time has not come is counted when it has."""
    with ExitStack() as undo:
        for limit, count in _due(calls, limits):
            limit.admit(count, look)
            undo.callback(limit.give_back, count)
        undo.pop_all()


def give_back(calls: Iterable[Any], limits: Mapping[str, PendingLimit]) -> None:
    """Say that calls which were admitted were not stored. ``calls``: these, or their definitions."""
    for limit, count in _due(calls, limits):
        limit.give_back(count)


def _due(calls: Iterable[Any], limits: Mapping[str, PendingLimit]) -> list[tuple[PendingLimit, int]]:
    due = Counter(call.queue_name for call in calls if call.run_after is None)
    return [(limits[queue_name], count) for queue_name, count in due.items() if queue_name in limits]


def check_max_pending(where: str, limits: Any, queues: Collection[str]) -> Iterator[checks.CheckMessage]:
    """System checks of ``MAX_PENDING``. ``queues``: those that the backend has; none: any."""
    if not isinstance(limits, Mapping):
        yield checks.Error(
            f"{where} must be a dict of queues and numbers, got {limits!r}.",
            hint='{"mail": 10_000}: so many tasks may wait in that queue.',
            id=_ID,
        )
        return
    for name, limit in limits.items():
        if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH:
            yield checks.Error(f"{where} must name queues, got {name!r}.", id=_ID)
        elif queues and name not in queues:
            yield checks.Error(
                f"{where} names a queue that is not in QUEUES: {name!r}{did_you_mean(name, queues)}", id=_ID
            )
        elif not is_whole(limit, 1, MOST_PENDING):
            yield checks.Error(
                f'{where}["{name}"] must be a whole number from 1 to {MOST_PENDING:,}, got {limit!r}.',
                hint="A queue that is not named here has no limit.",
                id=_ID,
            )
