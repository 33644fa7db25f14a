"""The rate under steady load, with and without an old snapshot held open by another session (a long report, pg_dump).

Dead versions of rows cannot be removed while it is open, and they are in the index that claims read.
"""

import statistics
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timedelta

from django.db import connection

from benchmarks.product import LOCQUEUE
from benchmarks.run import Reading, Run
from benchmarks.tasks import noop
from benchmarks.worker import Workers

AHEAD = 200_000  # ready tasks: more than are served between two looks, also while the disk holds up who enqueues
VISIBLE = timedelta(seconds=1)  # what finished so long ago has been committed


def readings(run: Run) -> Iterator[Reading]:
    if run.product is not LOCQUEUE or connection.vendor != "postgresql":
        return
    rates = []
    for name, held in (("without", nullcontext()), ("with", old_snapshot())):
        each_second = served_each_second(run, held)
        rates.append(statistics.median(each_second[-max(1, len(each_second) // 3) :]))
        yield Reading("snapshot", f"{name} an old snapshot, last third", "tasks/s", rates[-1], each_second)
    yield Reading("snapshot", "with, in relation to without", "", rates[1] / rates[0])


@contextmanager
def old_snapshot() -> Iterator[None]:
    session = connection.get_new_connection(connection.get_connection_params())
    try:
        session.autocommit = True
        session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        session.execute("SELECT txid_current_snapshot()")  # the snapshot is that of the first query
        yield
    finally:
        session.close()


def served_each_second(run: Run, held: AbstractContextManager[None]) -> list[float]:
    """Return the rate of each look, at least a second apart. As many tasks as were served are enqueued after each."""
    table = run.table
    table.empty()
    table.fill(noop, AHEAD)
    table.settle()
    rates = []
    with held, Workers(run.product, run.product.best) as workers:
        workers.wait_for(table.has_finished)
        time.sleep(VISIBLE.total_seconds())
        edge, until = now() - VISIBLE, time.monotonic() + run.scale.snapshot_seconds
        while time.monotonic() < until:
            # After each filling, however long it took: to catch up with the clock would count moments, not seconds.
            time.sleep(1)
            workers.check()
            before, edge = edge, now() - VISIBLE
            served = table.finished(before, edge)
            rates.append(served / (edge - before).total_seconds())
            table.fill(noop, served)
    return rates


def now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
        return moment
