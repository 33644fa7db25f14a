"""What makes a queue slow on SQLite: a file that is mostly empty, a log that readers keep from being written back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django_locqueue.management.doctor import Finding, megabytes, share

MUCH_FREE = 64 * 2**20
LONG_LOG = 256 * 2**20


def look(store: Any) -> Iterator[Finding]:
    pages, free, page_size = (
        store.fetch(f"PRAGMA {name}", ())[0][0] for name in ("page_count", "freelist_count", "page_size")
    )
    facts = f"{megabytes(pages * page_size)}, of which {share(free, pages)} are free"
    is_bloated = free * page_size > MUCH_FREE and free > pages / 2
    yield Finding.of("bloat", facts, is_bloated, facts, "VACUUM, at a quiet time")
    [(mode,)] = store.fetch("PRAGMA journal_mode", ())
    yield Finding.of(
        "journal",
        mode,
        mode not in ("wal", "memory"),
        f"{mode}: who writes waits for all that read",
        'OPTIONS: "init_command": "PRAGMA journal_mode=WAL"',
    )
    if mode == "wal":
        yield _log(Path(f"{store.connection.settings_dict['NAME']}-wal"))


def _log(path: Path) -> Finding:
    size = path.stat().st_size if path.exists() else 0
    facts = f"the log has {megabytes(size)}"
    return Finding.of(
        "oldest transaction",
        facts,
        size > LONG_LOG,
        f"{facts}: a reader that does not end keeps it from being written back",
        "Look for a process with a transaction open since long",
    )
