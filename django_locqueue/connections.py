"""How a thread leaves its database connections: dropped, clean for the next task, or renewed when they are old."""

import os
import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.db import connections


def close_connections() -> None:
    """Drop this thread's connections: what failed may have left one unusable."""
    for connection in connections.all(initialized_only=True):
        try:
            connection.close()
        except Exception:
            connection.connection = None


def break_off(others: Iterable[Any]) -> None:
    """End the sockets of another thread's connections, so that what waits for an answer there raises.

    Nothing else wakes a thread whose database was lost without a word: TCP goes on trying for a quarter of an hour.
    A database without sockets (SQLite) is left alone.
    """
    for connection in others:
        with suppress(Exception), socket.socket(fileno=os.dup(connection.connection.fileno())) as copy:
            copy.shutdown(socket.SHUT_RDWR)


def close_old_connections() -> None:
    """At the end of a burst of tasks: what ``CONN_MAX_AGE`` says of the end of a request."""
    for connection in connections.all(initialized_only=True):
        try:
            connection.close_if_unusable_or_obsolete()
        except Exception:
            connection.connection = None


def return_to_pool() -> None:
    """Give this thread's connections back to their pool, where they have one: others may wait for it."""
    for connection in connections.all(initialized_only=True):
        if is_pooled(connection) and not connection.in_atomic_block:
            connection.close()


def is_pooled(connection: Any) -> bool:
    return bool(connection.settings_dict["OPTIONS"].get("pool"))


def clean_connections() -> None:
    """Leave no transaction, and no query log, to the next task on this thread."""
    for connection in connections.all(initialized_only=True):
        connection.queries_log.clear()
        if connection.connection is None:
            continue
        try:
            if not _is_clean(connection) or is_pooled(connection):
                connection.close()
                if connection.in_atomic_block:
                    # Django keeps a connection unusable until its block ends, and this one never does.
                    del connections[connection.alias]
        except Exception:
            close_connections()


def _is_clean(connection: Any) -> bool:
    if connection.in_atomic_block or connection.errors_occurred or not connection.get_autocommit():
        return False
    info = getattr(connection.connection, "info", None)  # psycopg: a raw BEGIN is not seen by Django
    if info is not None:
        return bool(info.transaction_status == 0)
    if connection.vendor == "mysql":
        # Its client cannot tell, and the next BEGIN would commit what a raw BEGIN left. One round trip.
        connection.connection.rollback()
        return True
    return not getattr(connection.connection, "in_transaction", False)  # sqlite3
