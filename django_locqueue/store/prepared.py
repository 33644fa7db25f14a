"""Statements that their session keeps prepared: to plan an INSERT takes longer than to do it. PostgreSQL only."""

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from django.db import Error

R = TypeVar("R")

SOON = 5  # statements on a connection before it is asked, and again before psycopg prepares: a short one pays nothing
NEVER = -1
# No such prepared statement, or another of its name: somebody has sent DEALLOCATE, or it is a pooler after all.
_LOST = ("26000", "42P05")


class Preparing:
    """Lets psycopg prepare one verb's statements, where a project's own ``prepare_threshold`` does not decide for all.

    Behind a pooler in transaction mode the next statement may meet another process of the server, which knows nothing
    of what this one prepared. Such a pooler has to give its clients process ids of its own.

    For plans that no statistics can spoil, and outside of transactions: what fails there can be sent again.
    """

    def __init__(self) -> None:
        self._used: WeakKeyDictionary[Any, int] = WeakKeyDictionary()  # statements, by the driver's connection

    def run(self, connection: Any, verb: Callable[[], R]) -> R:
        """Return what the verb returns, whose one statement goes over this connection."""
        connection.close_if_health_check_failed()
        connection.ensure_connection()
        driver = connection.connection
        used = self._used.get(driver, 0)
        if used == NEVER or driver.prepare_threshold is not None:
            return verb()
        if used < SOON:
            self._used[driver] = used + 1
            return verb()
        if used == SOON:
            with connection.wrap_database_errors:
                is_direct = driver.execute("SELECT pg_backend_pid()").fetchone()[0] == driver.info.backend_pid
            self._used[driver] = used + 1 if is_direct else NEVER
            return verb()
        driver.prepare_threshold = SOON
        try:
            return verb()
        except Error as error:
            if getattr(error.__cause__, "sqlstate", None) not in _LOST:
                raise
            self._used[driver] = NEVER
        finally:
            driver.prepare_threshold = None
        return verb()
