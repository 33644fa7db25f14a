"""What makes a queue slow on SQLite: a file that is mostly empty, a log that readers keep from being written back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django_locqueue.management.doctor.finding import Finding, megabytes, share

MUCH_FREE = 64 * 2**20
LONG_LOG = 256 * 2**20


def look(store: Any) -> Iterator[Finding]:
    pages, free, page_size = (
        store.fetch(f"PRAGMA {name}", ())[0][0] for name in ("page_count", "freelist_count", "page_size")
    )
    facts = f"{megabytes(pages * page_size)}, of which {share(free, pages)} are free"
    is_bloated = free * page_size > MUCH_FREE and free > pages / 2
    yield Finding("bloat", facts, facts if is_bloated else "", "VACUUM, at a quiet time" if is_bloated else "")
    [(mode,)] = store.fetch("PRAGMA journal_mode", ())
    is_memory = mode == "memory"
    is_wal = mode == "wal" or is_memory
    yield Finding(
        "journal",
        mode,
        "" if is_wal else f"{mode}: who writes waits for all that read",
        "" if is_wal else 'OPTIONS: "init_command": "PRAGMA journal_mode=WAL"',
    )
    if mode == "wal":
        yield _log(Path(f"{store.connection.settings_dict['NAME']}-wal"))


def _log(path: Path) -> Finding:
    size = path.stat().st_size if path.exists() else 0
    is_long = size > LONG_LOG
    return Finding(
        "oldest transaction",
        f"the log has {megabytes(size)}",
        f"the log has {megabytes(size)}: a reader that does not end keeps it from being written back"
        if is_long
        else "",
        "Look for a process with a transaction open since long" if is_long else "",
    )
