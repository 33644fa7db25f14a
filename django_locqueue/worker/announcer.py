"""Tells receivers of signals what has ended."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime

from django_locqueue.connections import close_old_connections
from django_locqueue.service import IDLE_SECONDS, Service

logger = logging.getLogger("django_locqueue.worker")

Announcement = Callable[[], None]

MOST_WAITING = 100  # announcements; beyond that the slots help before they begin another task


class Announcer(Service):
    """Receivers are user code: on a thread of their own they hold up neither the writing of outcomes nor a slot.

    When they are slower than the tasks, the slots help, so that what waits here stays bounded.
    """

    name = "announcer"
    waits_for_others = True  # receivers

    def __init__(self) -> None:
        super().__init__()
        self._waiting: deque[Announcement] = deque()

    def put(self, announcements: Iterable[Announcement]) -> None:
        self._waiting.extend(announcements)
        self.wake()

    def put_one(self, announcement: Announcement) -> None:
        self.put([announcement])

    def help(self) -> None:
        """Called by a slot between two tasks."""
        while len(self._waiting) > MOST_WAITING:
            self._announce_one()

    def run_once(self, now: datetime | None = None) -> float:
        while self._waiting:
            self._announce_one()
        close_old_connections()
        return IDLE_SECONDS

    def drain(self, seconds: float) -> None:
        """Wait until all is told, at most ``seconds``."""
        self.wake()
        until = time.monotonic() + seconds
        while self._waiting and self.is_alive and time.monotonic() < until:
            threading.Event().wait(0.01)

    def _announce_one(self) -> None:
        try:
            announcement = self._waiting.popleft()
        except IndexError:  # another thread was faster
            return
        try:
            announcement()
        except BaseException:
            logger.exception("Telling what has ended failed; the next is told.")
