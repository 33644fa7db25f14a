"""How soon a task starts: from just before the call to the first line of the task.

Tasks are enqueued one by one at a rate, whatever becomes of them (open loop): on an idle worker with its defaults,
beside tasks that keep its slots busy half of the time, and without LISTEN. Of tasks that are enqueued before they are
due, it counts from that time.
"""

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from django.db import connection

from benchmarks.product import LOCQUEUE
from benchmarks.run import Reading, Run
from benchmarks.tasks import arrive, arrive_when_due, noop, work
from benchmarks.worker import Workers

RATE = 50  # tasks a second
LOAD_SECONDS = 0.04  # at that rate two of four slots
DUE_SECONDS = 0.3


def readings(run: Run) -> Iterator[Reading]:
    run.table.empty()
    with Workers(run.product, run.product.defaults) as workers:
        begin(workers)
        yield from percentiles("idle", send(workers, run.scale.latency_tasks))
        if run.product is not LOCQUEUE:  # one slot, which the load would fill
            return
        yield from percentiles("loaded", send(workers, run.scale.latency_tasks, LOAD_SECONDS))
        yield from percentiles("due", send_early(workers, run.scale.due_tasks))
    if connection.vendor == "postgresql":
        with Workers(run.product, run.product.defaults, listen=False) as workers:
            begin(workers)
            yield from percentiles("idle, by polling alone", send(workers, run.scale.latency_tasks // 2))


def percentiles(name: str, times: list[float]) -> Iterator[Reading]:
    cut = statistics.quantiles(times, n=100, method="inclusive")
    for percent in (50, 95, 99):
        yield Reading("latency", f"{name}, p{percent}", "ms", cut[percent - 1])


def begin(workers: Workers) -> None:
    """Wait until a worker has run something: it serves."""
    returned(workers, [noop.enqueue(0)])


def send(workers: Workers, count: int, load: float = 0) -> list[float]:
    """Return the milliseconds that each took to arrive."""
    results, start = [], time.monotonic()
    for number in range(count):
        time.sleep(max(0.0, start + number / RATE - time.monotonic()))
        if load:
            work.enqueue(load)
        results.append(arrive.enqueue(time.monotonic()))
    return [seconds * 1000 for seconds in returned(workers, results)]


def send_early(workers: Workers, count: int) -> list[float]:
    """Return by how many milliseconds each was late."""
    results = []
    for _ in range(count):
        due = datetime.now(UTC) + timedelta(seconds=DUE_SECONDS)
        results.append(arrive_when_due.using(run_after=due).enqueue(due.timestamp()))
        time.sleep(1.5 * DUE_SECONDS)
    return [seconds * 1000 for seconds in returned(workers, results)]


def returned(workers: Workers, results: list[Any]) -> list[float]:
    def is_finished(result: Any) -> bool:
        result.refresh()
        return bool(result.is_finished)

    for result in results:
        workers.wait_for(partial(is_finished, result))
    return [result.return_value for result in results]
