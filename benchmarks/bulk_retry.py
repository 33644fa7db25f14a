"""Retry 100,000 failed tasks by one bulk operation while two workers run: ``python -m benchmarks.bulk_retry``.

Prints how long it took and checks that each task ran exactly once more and that the counts add up.
"""

import argparse
import os
import subprocess
import sys
import time
from datetime import timedelta

from benchmarks import database
from benchmarks.product import LOCQUEUE

COUNT = 100_000
WORKERS = 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bulk_retry", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--postgres", metavar="URL", help="a server, as a superuser (default: one made for this run)")
    options = parser.parse_args()
    with database.postgres_server(options.postgres) as server, database.postgres_database(server) as url:
        os.environ |= {
            "BENCHMARK_PRODUCT": LOCQUEUE.name,
            "BENCHMARK_DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
        }
        import django

        django.setup()
        return measure(options.count)


def measure(count: int) -> int:
    from django.core.management import call_command
    from django.db.models import Max, Min
    from django.utils import timezone

    from django_locqueue.models import BulkOperation, Task
    from django_locqueue.store import get_store
    from django_locqueue.store.selection import Selection

    call_command("migrate", verbosity=0)
    store = get_store()
    ended = {"state": "failed", "attempt": 1, "max_attempts": 1, "finished_at": timezone.now() - timedelta(hours=1)}
    row = {"task_path": "benchmarks.tasks.noop", "args_kwargs": {"args": [0], "kwargs": {}}, **ended}
    Task.objects.bulk_create([Task(**row) for _ in range(count)], batch_size=2_000)
    command = [sys.executable, "-m", "django", "runqueue", "--no-reload", "-v", "0"]
    workers = [subprocess.Popen(command) for _ in range(WORKERS)]
    try:
        began = time.monotonic()
        operation = store.add_bulk("retry", Selection("failed"), by="benchmark", matched=count)
        asked = ran = 0.0
        while not ran:
            time.sleep(0.25)
            operation = BulkOperation.objects.get()
            if not asked and operation.is_finished:
                asked = time.monotonic() - began
            if asked and not Task.objects.exclude(state="successful").exists():
                ran = time.monotonic() - began
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()
    print(f"{operation.changed:,} retried and {operation.skipped:,} skipped in {asked:.1f} s, all run in {ran:.1f} s")  # noqa: T201
    tried = Task.objects.aggregate(least=Min("attempt"), most=Max("attempt"))
    is_right = operation.changed + operation.skipped == operation.matched == count and set(tried.values()) == {2}
    print("Each ran once more." if is_right else f"WRONG: {tried}, {operation.__dict__}")  # noqa: T201
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
