"""What makes claims slow on PostgreSQL: rows that are dead and cannot be cleaned up, or are not."""

from collections.abc import Iterator
from typing import Any

from django_locqueue.management.doctor import (
    DEAD_ROWS,
    DEAD_SHARE,
    TRANSACTION_SECONDS,
    Finding,
    megabytes,
    share,
)
from django_locqueue.observability.logs import duration, safe

_TABLES = """
SELECT relname, n_live_tup, n_dead_tup, pg_total_relation_size(relid),
  EXTRACT(EPOCH FROM now() - GREATEST(last_vacuum, last_autovacuum))
FROM pg_stat_user_tables WHERE schemaname = ANY (current_schemas(false)) AND relname = ANY (%s)
"""
# What keeps rows that are dead from being cleaned up, whoever it is: sessions, prepared transactions, slots.
_OLDEST = """
SELECT 'session ' || pid || ' (' || COALESCE(NULLIF(application_name, ''), usename::text, '?') || ', ' || state || ')',
  EXTRACT(EPOCH FROM clock_timestamp() - xact_start)
FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()
UNION ALL
SELECT 'prepared transaction ' || gid, EXTRACT(EPOCH FROM clock_timestamp() - prepared)
FROM pg_prepared_xacts WHERE database = current_database()
ORDER BY 2 DESC LIMIT 1
"""
_SLOTS = """
SELECT slot_name, age(COALESCE(xmin, catalog_xmin)) FROM pg_replication_slots
WHERE NOT active AND COALESCE(xmin, catalog_xmin) IS NOT NULL
"""
# CREATE INDEX CONCURRENTLY leaves one when it fails.
_INVALID = """
SELECT indexrelid::regclass::text FROM pg_index
WHERE NOT indisvalid AND starts_with(indexrelid::regclass::text, 'locqueue_')
"""
_OPTIONS = "SELECT reloptions FROM pg_class WHERE oid = 'locqueue_task'::regclass"


def look(store: Any) -> Iterator[Finding]:
    yield from _bloat(store)
    yield _transaction(store)
    if slots := store.fetch(_SLOTS, ()):
        listed = ", ".join(f"{safe(name)} (behind by {age:,} transactions)" for name, age in slots)
        yield Finding(
            "replication slots", "", f"not in use, and keep dead rows: {listed}", "SELECT pg_drop_replication_slot(…)"
        )
    if names := [name for (name,) in store.fetch(_INVALID, ())]:
        yield Finding("indexes", "", f"not valid: {', '.join(names)}", f"REINDEX INDEX CONCURRENTLY {names[0]}")
    [(options,)] = store.fetch(_OPTIONS, ())
    is_tuned = any(option.startswith("autovacuum_vacuum_scale_factor=") for option in options or ())
    yield Finding.of(
        "autovacuum",
        "tuned for the task table",
        not is_tuned,
        "the task table has lost its settings: it is cleaned up when a fifth of it is dead",
        "ALTER TABLE locqueue_task SET (autovacuum_vacuum_scale_factor = 0.01, "
        "autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0.05)",
    )


def _bloat(store: Any) -> Iterator[Finding]:
    for name, live, dead, size, age in store.fetch(_TABLES, [["locqueue_task", "locqueue_taskattempt"]]):
        cleaned = "never cleaned up" if age is None else f"cleaned up {duration(float(age))} ago"
        facts = f"{name}: {megabytes(size)}, {dead:,} dead rows beside {live:,}, {cleaned}"
        yield Finding.of(
            "bloat",
            facts,
            dead > max(DEAD_ROWS, DEAD_SHARE * live),
            f"{facts} ({share(dead, live + dead)} dead)",
            f"If no transaction is old: VACUUM (ANALYZE) {name}",
        )


def _transaction(store: Any) -> Finding:
    rows = store.fetch(_OLDEST, ())
    if not rows or rows[0][1] is None:
        return Finding("oldest transaction", "none but this one")
    who, age = safe(rows[0][0] or "of a session that this role may not see"), float(rows[0][1])
    if age < TRANSACTION_SECONDS:
        return Finding("oldest transaction", f"{who}, open for {duration(age)}")
    return Finding(
        "oldest transaction",
        "",
        f"{who} has been open for {duration(age)}: nothing that died since is cleaned up, and claims read past it",
        "End it: SELECT pg_terminate_backend(pid), or ROLLBACK PREPARED. "
        "idle_in_transaction_session_timeout keeps it from coming back",
    )
