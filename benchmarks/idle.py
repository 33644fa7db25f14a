"""What a worker costs that has nothing to do: transactions as PostgreSQL counts them, time and memory as Linux does."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from django.db import connection

from benchmarks.latency import begin
from benchmarks.run import Reading, Run
from benchmarks.worker import Workers

SETTLE_SECONDS = 12  # until polling is slow again, and PostgreSQL has counted what went before


def readings(run: Run) -> Iterator[Reading]:
    run.table.empty()
    with Workers(run.product, run.product.defaults) as workers:
        begin(workers)
        connection.close()
        time.sleep(SETTLE_SECONDS)
        began, transactions, seconds = time.monotonic(), counted_transactions(), seconds_of(workers.pid)
        time.sleep(run.scale.idle_seconds)
        passed = time.monotonic() - began
        cpu = 100 * (seconds_of(workers.pid) - seconds) / passed
        if connection.vendor == "postgresql":
            rate = (counted_transactions() - transactions - 1) / passed  # one is the question itself
            yield Reading("idle", "transactions", "1/s", rate)
        yield Reading("idle", "processor", "% of a core", cpu)
        for name, size in memory(workers.pid).items():
            yield Reading("idle", name, "MB", size)


def counted_transactions() -> int:
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def seconds_of(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> dict[str, float]:
    lines = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    sizes = {name: int(size) / 1024 for name, size, *_ in lines}
    return {"memory, resident": sizes["Rss:"], "memory, its own share": sizes["Pss:"]}
