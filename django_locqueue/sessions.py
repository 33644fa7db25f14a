"""What a task leaves in the session of a database connection: seen as it goes by, since asking costs a round trip."""

import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

from django.db import connections
from django.db.backends.signals import connection_created

# What a statement that changes its session begins with, or names. What ends with its transaction is left out.
_BEGIN = {
    "postgresql": re.compile(
        r"\s*(SET\s+(?!LOCAL|CONSTRAINTS|TRANSACTION)|RESET\s|LISTEN\s|UNLISTEN\s|DISCARD\s|LOAD\s|"
        r"PREPARE\s+(?!TRANSACTION)|CREATE\s+((OR\s+REPLACE|GLOBAL|LOCAL)\s+)*TEMP)",
        re.IGNORECASE,
    ),
    "mysql": re.compile(
        r"\s*(SET\s+(?!TRANSACTION|STATEMENT)|LOCK\s+TABLE|USE\s|PREPARE\s|CREATE\s+(OR\s+REPLACE\s+)?TEMPORARY)",
        re.IGNORECASE,
    ),
    "sqlite": re.compile(r"\s*(PRAGMA\s+\w+\s*=|ATTACH\s|DETACH\s|CREATE\s+TEMP)", re.IGNORECASE),
}
_NAMES = {"postgresql": ("set_config", "advisory_lock"), "mysql": ("GET_LOCK", "get_lock"), "sqlite": ()}
_LOCAL_CONFIG = re.compile(r"set_config\s*\([^;]*\btrue\s*\)", re.IGNORECASE | re.DOTALL)

_thread = threading.local()


def watch_this_thread() -> None:
    """From now on note which connections this thread opens, and what they are used for. Before it opens one."""
    connection_created.connect(_note_opened, dispatch_uid="django_locqueue.sessions")
    _thread.opened = []


def opened_here() -> Sequence[Any]:
    """Return this thread's connections. Of a watched one those that it opened: Django's list takes longer to make."""
    opened: list[Any] | None = getattr(_thread, "opened", None)
    return connections.all(initialized_only=True) if opened is None else opened.copy()


def forget(connection: Any) -> None:
    """Django makes another object for this alias."""
    if connection in (opened := getattr(_thread, "opened", [])):
        opened.remove(connection)


def watcher_of(connection: Any) -> "SessionWatcher | None":
    first = connection.execute_wrappers[:1]
    return first[0] if first and isinstance(first[0], SessionWatcher) else None


class SessionWatcher:
    """The outermost wrapper of a connection's statements. ``wrappers``: those that were there when it was opened."""

    def __init__(self, connection: Any) -> None:
        self.vendor: str = connection.vendor
        self.is_changed = False
        self.wrappers = [self, *connection.execute_wrappers]

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:
        if not self.is_changed and changes_session(self.vendor, sql):
            self.is_changed = True
        return execute(sql, params, many, context)


def changes_session(vendor: str, sql: Any) -> bool:
    """Whether a statement leaves something that the end of its transaction does not take away.

    Not seen: what a function of the database, or a second statement in the same text, does.
    """
    if vendor not in _BEGIN:
        return False
    if not isinstance(sql, str):
        try:
            sql = sql.as_string(None)  # psycopg's composed statements
        except Exception:
            return True  # in doubt
    if _BEGIN[vendor].match(sql):
        return True
    for name in _NAMES[vendor]:
        if name in sql:
            return name != "set_config" or _LOCAL_CONFIG.search(sql) is None
    return False


def _note_opened(connection: Any, **kwargs: Any) -> None:
    if (opened := getattr(_thread, "opened", None)) is None:
        return
    if connection not in opened:
        opened.append(connection)
    if watcher_of(connection) is not None:  # opened again
        del connection.execute_wrappers[0]
    watcher = SessionWatcher(connection)
    # The first is the outermost, and the last is what leaves when a block that added one ends.
    connection.execute_wrappers.insert(0, watcher)
