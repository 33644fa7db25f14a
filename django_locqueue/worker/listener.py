"""Hears what other processes enqueue, so that an idle worker need not wait for its next poll. PostgreSQL only."""

import logging
import math
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db import Error, InterfaceError, OperationalError, connections

from django_locqueue.connections import close_connections
from django_locqueue.service import Service, describe
from django_locqueue.store.notify import CHANNEL, Notifying
from django_locqueue.worker.bell import Bell

logger = logging.getLogger("django_locqueue.worker")

PING_SECONDS = 30.0
ANSWER_SECONDS = 3.0  # then the connection is dead, or it was always deaf
UNLISTEN_TRIES = 200  # 10 s: the pooler gives any of its sessions
DEAF_SECONDS = 300.0  # until a server on which nothing was heard is tried again


class Listener(Service):
    """A hint on top of polling, on a connection of its own. ``on_notified(queue_name)``: "" means any queue.

    It notifies itself by another connection, as a producer would. When it does not hear that, a connection that was cut
    without a word is replaced; where not even the first ping arrives (a pooler in transaction mode takes LISTEN and
    never delivers) it says so once and leaves the matter to polling.
    """

    name = "listener"
    waits_for_others = True  # notifications; it pings
    LONGEST_WAIT_SECONDS = 30.0

    def __init__(self, store: Notifying, on_notified: Callable[[str], None]) -> None:
        super().__init__()
        self.store = store
        self.on_notified = on_notified
        self.is_heard = False  # its last ping came back
        self._own_channel = f"{CHANNEL}_{uuid.uuid4().hex}"  # pings wake nobody else
        self._connection: Any = None
        self._ping_at = self._answer_by = math.inf
        self._session: tuple[Any, ...] | None = None  # of the server; a pooler gives another for each transaction
        self._is_deaf = False
        self._bell = Bell()  # a wait for the database cannot wait for an event as well

    def wake(self, *, again: bool = False) -> None:
        super().wake(again=again)
        self._bell.ring()

    def run_once(self, now: datetime | None = None) -> float:
        if self._connection is None:
            try:
                self._listen()
            except (InterfaceError, OperationalError):
                raise  # it is away
            except Error as error:
                return self._deaf(describe(error))
        if time.monotonic() >= self._ping_at:
            self._ping()
        self._pass_began = None  # to wait is what it is for; nobody shall break that off
        self._bell.wait(min(self._ping_at, self._answer_by) - time.monotonic(), self._connection.connection)
        self._pass_began = time.monotonic()
        with self._connection.wrap_database_errors:
            heard = list(self._connection.connection.notifies(timeout=0))
        for notification in heard:
            if notification.channel == self._own_channel:
                self._answer_by = math.inf
                self.is_heard, self._is_deaf = True, False
            else:
                self.on_notified(notification.payload)
        if time.monotonic() < self._answer_by:
            return 0
        if self.is_heard:
            self._close()
            return 0
        return self._deaf("nothing arrives, as behind a pooler in transaction mode")

    def on_failure(self, error: Exception) -> None:
        self._close()

    def _listen(self) -> None:
        self._connection = self.store.listening_connection()
        self._connections = [*connections.all(), self._connection]  # what is broken off if the server is silent
        with self._connection.cursor() as cursor:
            cursor.execute(f'SELECT pg_backend_pid(); LISTEN "{CHANNEL}"; LISTEN "{self._own_channel}"')
            self._session = cursor.fetchone()
        self._ping_at = time.monotonic()

    def _ping(self) -> None:
        try:
            self.store.ping(self._own_channel)
        finally:
            close_connections()  # not worth one that stays
        self._ping_at = time.monotonic() + PING_SECONDS
        self._answer_by = time.monotonic() + ANSWER_SECONDS

    def _deaf(self, reason: str) -> float:
        if not self._is_deaf:
            logger.warning("New tasks are found by polling alone: LISTEN does not work here (%s).", reason)
        self._is_deaf = True
        if self._session is not None:
            self._unlisten()
        self._close()
        return DEAF_SECONDS

    def _unlisten(self) -> None:
        """Leave no session that listens to the pooler's next client: ask until it gives us that one again."""
        with suppress(Error), self._connection.cursor() as cursor:
            for _ in range(UNLISTEN_TRIES):
                cursor.execute("SELECT pg_backend_pid(); UNLISTEN *")
                if cursor.fetchone() == self._session:
                    return
                self._bell.wait(0.05)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        self._session = None
        self.is_heard = False
        self._ping_at = self._answer_by = math.inf
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _loop(self) -> None:
        with self._bell:
            try:
                super()._loop()
            finally:
                self._close()
