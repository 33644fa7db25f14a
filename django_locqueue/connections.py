"""The database connections of a thread: how it leaves them (dropped, clean for the next task, or renewed when they are
old), and what waits for their commits."""

import os
import select
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from django.db import connections, transaction

from django_locqueue.sessions import forget, opened_here, watcher_of


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


def close_cut_connections() -> None:
    """Before a task begins: drop what the server has closed meanwhile, so that the task does not meet it.

    No round trip: a server that has nothing to answer and yet sends something says good-bye.
    """
    for connection in opened_here():
        if connection.connection is not None and connection.vendor != "sqlite" and _is_cut(connection.connection):
            _drop(connection)


def return_to_pool() -> None:
    """Give this thread's connections back to their pool, where they have one: others may wait for it."""
    for connection in connections.all(initialized_only=True):
        if is_pooled(connection) and not connection.in_atomic_block:
            connection.close()


def is_pooled(connection: Any) -> bool:
    return bool(connection.settings_dict["OPTIONS"].get("pool"))


def clean_connections() -> None:
    """Leave no transaction, no setting of the session, and no query log, to the next task on this thread."""
    for connection in opened_here():
        connection.queries_log.clear()
        connection.force_debug_cursor = False
        if connection.connection is None:
            continue
        try:
            if _is_session_changed(connection):
                _drop(connection)
            elif not _is_clean(connection) or is_pooled(connection):
                connection.close()
            if connection.in_atomic_block:
                # Django keeps a connection unusable until its block ends, and this one never does.
                del connections[connection.alias]
                forget(connection)
        except Exception:
            close_connections()


def _is_session_changed(connection: Any) -> bool:
    watcher = watcher_of(connection)
    if watcher is None:
        return False
    if len(connection.execute_wrappers) > len(watcher.wrappers):
        connection.execute_wrappers[:] = watcher.wrappers
    return watcher.is_changed


def _is_clean(connection: Any) -> bool:
    if connection.in_atomic_block or connection.errors_occurred or not connection.get_autocommit():
        return False
    if connection.vendor == "postgresql":  # a raw BEGIN is not seen by Django
        return bool(connection.connection.info.transaction_status == 0)
    if connection.vendor == "mysql":
        # Its client cannot tell, and the next BEGIN would commit what a raw BEGIN left. One round trip.
        connection.connection.rollback()
        return True
    return not getattr(connection.connection, "in_transaction", False)  # sqlite3


def _is_cut(driver_connection: Any) -> bool:
    try:
        look = select.poll()
        look.register(driver_connection.fileno(), select.POLLIN)
        return bool(look.poll(0))
    except (AttributeError, OSError):  # this platform or driver cannot tell
        return False
    except Exception:  # the driver knows that it is closed
        return True


def _drop(connection: Any) -> None:
    """Close a connection for good: with a pool, Django's own ``close`` would hand it to another thread as it is."""
    if connection.vendor != "sqlite":  # whose databases in memory live as long as they are open
        with suppress(Exception):  # it is closed already
            connection.connection.close()
    try:
        connection.close()
    except Exception:
        connection.connection = None


def after_commits(act: Callable[[], object]) -> None:
    """Call ``act`` when every transaction that is open in this thread has committed; at once if there is none.

    Where one of them rolls back, it is not called.
    """
    uncommitted = {each.alias for each in connections.all(initialized_only=True) if each.in_atomic_block}
    if not uncommitted:
        act()

    def committed(alias: str) -> None:
        uncommitted.discard(alias)
        if not uncommitted:
            act()

    for alias in sorted(uncommitted):
        transaction.on_commit(partial(committed, alias), using=alias)
