"""What rows cost that are only there: the rate, and a claim, beside so many ready, scheduled and finished ones."""

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import connection

from benchmarks.product import LOCQUEUE
from benchmarks.run import Reading, Run
from benchmarks.tasks import noop
from benchmarks.worker import Workers

CLAIMS, CLAIM_SIZE = 20, 100
KINDS = ("ready", "scheduled", "finished")


def readings(run: Run) -> Iterator[Reading]:
    for size in run.scale.backlogs:
        for kind in KINDS if size else ("rows",):
            pile_up(run, kind, size)
            yield Reading("backlog", f"{size:,} {kind}: served", "tasks/s", served(run))
            if run.product is LOCQUEUE:
                yield Reading("backlog", f"{size:,} {kind}: a claim", "µs/task", claim_microseconds(run))


def pile_up(run: Run, kind: str, size: int) -> None:
    """One row through the public API, and copies of it by SQL."""
    run.table.empty()
    if not size:
        return
    if kind == "scheduled":
        noop.using(run_after=datetime.now(UTC) + timedelta(days=1)).enqueue(0)
    else:
        noop.enqueue(0)
    if kind == "finished":
        with Workers(run.product, run.product.defaults, leave_when_empty=True) as workers:
            workers.wait()
    run.table.copy(size - 1)


def served(run: Run) -> float:
    before = run.table.last_finished()
    run.table.fill(noop, run.drain_tasks)
    run.table.settle()
    with Workers(run.product, run.product.best, leave_when_empty=True) as workers:
        workers.wait_for(lambda: run.table.has_finished(after=before))
        workers.wait(run.scale.window_seconds)
    return run.table.rate(after=before)


def claim_microseconds(run: Run) -> float:
    """The median of claims through the store, each of many tasks, in this process."""
    from django_locqueue import compat
    from django_locqueue.store.serve import Owner

    run.table.fill(noop, (CLAIMS + 1) * CLAIM_SIZE)
    run.table.settle()
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:  # the disk is as slow beside many rows as beside none
            cursor.execute("SET synchronous_commit = off")
    store = compat.task_backends["default"].store  # type: ignore[attr-defined]
    worker = store.register_worker("benchmark", lease=600)
    times = []
    for _ in range(CLAIMS + 1):
        began = time.perf_counter()
        claimed = store.claim(Owner(worker.pk, worker.name), CLAIM_SIZE)
        times.append((time.perf_counter() - began) / len(claimed))
    connection.close()
    return statistics.median(times[1:]) * 1e6  # the first prepares statements
