"""The plans of the statements that the store really sends, as text."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.db import ProgrammingError, connection


class Statements:
    """Collects ``(sql, params)`` of what is sent while it is active, and explains it afterwards."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any]] = []

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        self.sent.append((sql, params))
        return execute(sql, params, many, context)


def plans(verb: Callable[[], Any]) -> list[str]:
    """Run a verb and return a plan for each SELECT, UPDATE and DELETE that it sent."""
    statements = Statements()
    with connection.execute_wrapper(statements):
        verb()
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    found = []
    with connection.cursor() as cursor:
        for sql, params in statements.sent:
            if sql.lstrip().startswith(("SELECT", "UPDATE", "DELETE", "WITH")):
                cursor.execute(f"{explain} {sql}", params)
                lines = "\n".join(str(row[-1]) for row in cursor.fetchall())
                found.append(f"{' '.join(sql.split())}\n{lines}")
    return found


def plan_of(verb: Callable[[], Any], start: str) -> str:
    """Return the plan of the first statement that begins with ``start``."""
    for plan in plans(verb):
        if plan.startswith(start):
            return plan
    raise AssertionError(f"no statement began with {start}")


OURS = "SELECT oid FROM pg_class WHERE relname LIKE 'locqueue_%'"


def forget_statistics(*, analyse: bool = True) -> None:
    """Let the planner know nothing of empty tables: what was found in them outlives TRUNCATE and ANALYZE."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TABLE IF EXISTS sqlite_stat1")
        elif connection.vendor == "postgresql":
            if analyse:
                cursor.execute("ANALYZE")
            with suppress(ProgrammingError):  # no superuser
                cursor.execute(f"DELETE FROM pg_statistic WHERE starelid IN ({OURS})")
