"""The keys with which visitors are told apart within a day, and not beyond.

A key is random and lives in a row until the next day has ended, 48 hours at most. Then nobody can tell any more which
address a hash was made of, or that two of different days are one visitor: not even by trying all addresses.
"""

import datetime
import logging
import os
import time

from django.utils import timezone

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.primary import primary
from django_locqueue.accesslog.savepoints import savepoints
from django_locqueue.accesslog.throttled import ThrottledLogger

logger = ThrottledLogger(logging.getLogger("django_locqueue.accesslog"))

KEY_BYTES = 32
DAY = datetime.timedelta(days=1)
TRY_AGAIN_SECONDS = 30.0


class VisitorKeys:
    """The keys that this process knows. ``load`` asks the database, once a day; ``of`` never does.

    Without a row (the database is down, or nobody called ``load``) the day has a key of this process's own: its
    visitors are told apart, but not recognised by other processes.
    """

    def __init__(self) -> None:
        self._keys: dict[datetime.date, bytes] = {}
        self._own: dict[datetime.date, bytes] = {}
        self._load_at = 0.0  # seconds since 1970

    def of(self, moment: float) -> bytes:
        """Return the key of the day of a moment, in seconds since 1970. The day is one of the site's time zone."""
        day = day_of(moment)
        return self._keys.get(day) or self._own.get(day) or self._own.setdefault(day, os.urandom(KEY_BYTES))

    def is_due(self) -> bool:
        """Whether ``load`` would ask the database."""
        return time.time() >= self._load_at

    def load(self) -> None:
        """Read today's key, or make it. Never raises. Hits that go to the log have no database to ask."""
        if not self.is_due() or access_log.BACKEND == "logging":
            return
        now = time.time()
        today = day_of(now)
        try:
            with savepoints():  # the caller may be a request in a transaction
                key = stored_key(today)
        except Exception:  # the database is down, or not migrated yet
            self._load_at = now + TRY_AGAIN_SECONDS
            logger.failure("The key of today's visitors could not be read; this process uses one of its own.")
            return
        recent = (today, today - DAY)
        self._keys = {day: known for day, known in self._keys.items() if day in recent} | {today: key}
        self._own = {day: known for day, known in self._own.items() if day in recent}
        self._load_at = _begin(today + DAY)


def stored_key(today: datetime.date) -> bytes:
    """Return today's key, whichever process made it. Whoever makes it deletes those of the day before yesterday."""
    from django_locqueue.accesslog.models import VisitorKey

    keys = primary(VisitorKey)
    row, is_new = keys.get_or_create(day=today, defaults={"key": os.urandom(KEY_BYTES)})
    if is_new:
        delete_old_keys(today)
    return bytes(row.key)


def delete_old_keys(today: datetime.date) -> int:
    """Delete the keys of all days before yesterday; return how many there were."""
    from django_locqueue.accesslog.models import VisitorKey

    old = primary(VisitorKey).filter(day__lt=today - DAY)
    return old.delete()[0]


def day_of(moment: float) -> datetime.date:
    """Return the day of the site's time zone."""
    return datetime.datetime.fromtimestamp(moment, timezone.get_default_timezone()).date()


def _begin(day: datetime.date) -> float:
    return datetime.datetime.combine(day, datetime.time(), timezone.get_default_timezone()).timestamp()


visitor_keys = VisitorKeys()
