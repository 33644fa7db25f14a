"""A bound on what statements may take, so that no search holds a web process and a database for minutes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connections, transaction

# What is read under a limit is read from an index, in its order. Where PostgreSQL expects few rows, it may rather fetch
# all that there are, and sort them. (Before version 18 what is left of such ways looks so costly that it is compiled.)
_OFF = ("enable_sort", "enable_bitmapscan", "enable_seqscan", "jit")
_SETTINGS = {"statement_timeout": "%s", **dict.fromkeys(_OFF, "'off'")}
# One statement, which may be prepared, as a SET may not.
SETTINGS = "SELECT " + ", ".join(f"SET_CONFIG('{name}', {value}, true)" for name, value in _SETTINGS.items())
# SQLSTATE of PostgreSQL, numbers of MySQL and MariaDB.
TIMED_OUT = ("57014", 3024, 1969)


class TooSlow(OperationalError):
    """A statement took longer than it may."""


@contextmanager
def statement_limit(alias: str, seconds: float) -> Iterator[None]:
    """Let each SELECT inside take at most ``seconds``; 0: any time. Raises TooSlow. For reading only.

    SQLite has nothing like it.
    """
    connection = connections[alias]
    try:
        if connection.vendor == "postgresql":
            with transaction.atomic(using=alias):
                with connection.cursor() as cursor:
                    cursor.execute(SETTINGS, [str(int(seconds * 1000))])
                yield
                # The settings go with the savepoint: the project's transaction, if there is one, has its own again.
                transaction.set_rollback(True, using=alias)
        elif connection.vendor == "sqlite" or not seconds:
            yield
        else:
            with connection.execute_wrapper(_limited(connection, seconds)):
                yield
    except OperationalError as error:
        cause = error.__cause__
        codes = (getattr(cause, "sqlstate", None), *getattr(cause, "args", ())[:1])
        if any(code in TIMED_OUT for code in codes if code is not None):
            raise TooSlow from error
        raise


def _limited(connection: Any, seconds: float) -> Callable[..., Any]:
    """Return a wrapper that gives each SELECT its bound: a session's would outlive an error."""

    def execute(run: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        sql = sql.lstrip()
        if sql.startswith("SELECT "):
            if connection.mysql_is_mariadb:
                sql = f"SET STATEMENT max_statement_time={seconds:.3f} FOR {sql}"
            else:
                sql = f"SELECT /*+ MAX_EXECUTION_TIME({int(seconds * 1000)}) */ {sql.removeprefix('SELECT ')}"
        return run(sql, params, many, context)

    return execute
