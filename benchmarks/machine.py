"""What the numbers depend on and nobody remembers later."""

import os
import platform
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import distributions, version
from pathlib import Path

import psycopg

DURABILITY = ("fsync", "synchronous_commit", "wal_sync_method", "full_page_writes", "shared_buffers")
SYNCS = 200


def description(postgres_url: str | None) -> Iterator[str]:
    """Yield a sentence each for hardware, disk, software and PostgreSQL."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    system = f"{platform.system()} {platform.release()}"
    yield f"{time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores ({processor()}), {memory:.0f} GB, {system}"
    yield f"load average at the start {os.getloadavg()[0]:.1f}; an fdatasync takes {sync_microseconds():.0f} µs"
    software = {name: version(name) for name in ("Django", "psycopg", "django-tasks-db") if _is_installed(name)}
    versions = {"Python": platform.python_version(), **software, "SQLite": sqlite3.sqlite_version}
    yield ", ".join(f"{name} {number}" for name, number in versions.items())
    if postgres_url:
        with psycopg.connect(postgres_url) as connection:
            told = [connection.execute(f"SHOW {name}").fetchone() for name in ("server_version", *DURABILITY)]
        values = [row[0] for row in told if row]
        settings = ", ".join(f"{name}={value}" for name, value in zip(DURABILITY, values[1:], strict=True))
        yield f"PostgreSQL {values[0]}: {settings}"


def _is_installed(distribution: str) -> bool:
    return any(True for _ in distributions(name=distribution))


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
