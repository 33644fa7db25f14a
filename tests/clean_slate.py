"""How the database is emptied after a test that commits: rows are deleted where there are any, and that is all.

Django's own way, its command ``flush``, truncates every table and then makes all content types and permissions anew:
50 to 100 ms, a thousand times in a run. Most tests leave rows in two tables out of twenty. It then connects anew, and
a new session of a server knows no table yet: an eighth of what such tests take.
"""

from functools import cache
from typing import Any

from django.db import connections, transaction
from django.test import TransactionTestCase

# What `migrate` itself writes, and no test changes.
KEPT = {"django_migrations", "django_content_type", "auth_permission"}


@cache
def _tables(alias: str) -> list[str]:
    found = connections[alias].introspection.django_table_names(only_existing=True, include_views=False)
    return sorted(set(found) - KEPT)


def empty(alias: str) -> None:
    """Delete all rows but those of ``KEPT``. Sequences go on: no test may count on an id."""
    connection = connections[alias]
    quoted = [connection.ops.quote_name(table) for table in _tables(alias)]
    # In any order: PostgreSQL looks at foreign keys at the commit, the others not at all here.
    with connection.constraint_checks_disabled(), transaction.atomic(alias), connection.cursor() as cursor:
        cursor.execute("SELECT " + ", ".join(f"EXISTS (SELECT 1 FROM {table})" for table in quoted))
        for table, has_rows in zip(quoted, cursor.fetchone(), strict=True):
            if has_rows:
                cursor.execute(f"DELETE FROM {table}")


def _fixture_teardown(case: Any) -> None:
    """Stand in for the method of this name in Django's ``TransactionTestCase``."""
    for alias in case._databases_names(include_mirrors=False):
        empty(alias)


def _should_reload_connections(case: Any) -> bool:
    """Stand in for the method of this name: only for a connection that has broken."""
    return any(
        each.connection is not None and each.errors_occurred and not each.is_usable()
        for each in connections.all(initialized_only=True)
    )


def use() -> None:
    """Let every test that commits end in this way."""
    TransactionTestCase._fixture_teardown = _fixture_teardown  # type: ignore[attr-defined]
    TransactionTestCase._should_reload_connections = _should_reload_connections  # type: ignore[attr-defined]
