"""What makes claims slow on MySQL and MariaDB: old versions of rows that a transaction still needs."""

from collections.abc import Iterator
from typing import Any

from django.db import Error

from django_locqueue.management.doctor import TRANSACTION_SECONDS, Finding, megabytes, share
from django_locqueue.observability.logs import duration, safe

MANY_VERSIONS = 100_000
MUCH_FREE = 256 * 2**20

_OLDEST = """
SELECT trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, trx_started, NOW()) FROM information_schema.innodb_trx
WHERE trx_mysql_thread_id <> CONNECTION_ID() ORDER BY trx_started LIMIT 1
"""
_HISTORY = "SELECT `count` FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'"
_TABLES = """
SELECT table_name, data_length + index_length, data_free FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name IN ('locqueue_task', 'locqueue_taskattempt')
"""


def look(store: Any) -> Iterator[Finding]:
    for name, size, free in store.fetch(_TABLES, ()):
        facts = f"{name}: {megabytes(size)}, {megabytes(free)} free"
        yield Finding.of(
            "bloat",
            facts,
            free > max(MUCH_FREE, size),
            f"{facts} ({share(free, size + free)})",
            f"OPTIMIZE TABLE {name}, at a quiet time",
        )
    try:
        yield _transaction(store)
        yield _versions(store)
    except Error as error:
        yield Finding("oldest transaction", f"not seen: the user lacks the privilege PROCESS ({safe(str(error))})")


def _transaction(store: Any) -> Finding:
    rows = store.fetch(_OLDEST, ())
    if not rows:
        return Finding("oldest transaction", "none but this one")
    thread, age = rows[0]
    facts = f"connection {thread}, open for {duration(float(age))}"
    if age < TRANSACTION_SECONDS:
        return Finding("oldest transaction", facts)
    return Finding(
        "oldest transaction",
        "",
        f"{facts}: every version of a row since is kept, and claims read past them",
        f"End it: KILL {thread}",
    )


def _versions(store: Any) -> Finding:
    rows = store.fetch(_HISTORY, ())
    length = int(rows[0][0]) if rows else 0
    return Finding.of(
        "old versions",
        f"{length:,} in the history list",
        length > MANY_VERSIONS,
        f"{length:,} wait to be purged",
        "Look for an old transaction; else raise innodb_purge_threads",
    )
