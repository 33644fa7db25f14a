"""What the numbers depend on and nobody remembers later."""

import os
import platform
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import django
import psycopg

DURABILITY = ("fsync", "synchronous_commit", "wal_sync_method", "full_page_writes", "shared_buffers")
SYNCS = 200


def description(postgres_url: str | None) -> Iterator[str]:
    """Yield a sentence each for hardware, disk, software and PostgreSQL."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    yield f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores ({processor()}), {pages / 2**30:.0f} GB, {platform.platform()}"
    yield f"load average when it began {os.getloadavg()[0]:.1f}; one fdatasync takes {sync_microseconds():.0f} µs (median)"
    yield f"Python {platform.python_version()}, Django {django.__version__}, psycopg {version('psycopg')}, SQLite {sqlite3.sqlite_version}"
    if postgres_url:
        with psycopg.connect(postgres_url) as connection:
            told = [connection.execute(f"SHOW {name}").fetchone() for name in ("server_version", *DURABILITY)]  # type: ignore[arg-type]
        values = [row[0] for row in told if row]
        settings = ", ".join(f"{name}={value}" for name, value in zip(DURABILITY, values[1:], strict=True))
        yield f"PostgreSQL {values[0]}: {settings}"


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def sync_microseconds() -> float:
    """What a commit pays at least: an 8 kB page written and synced, in the folder where the databases are."""
    times = []
    with tempfile.TemporaryFile() as file:
        for _ in range(SYNCS):
            file.write(bytes(8192))
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6
