"""Tasks that are enqueued in a second: by one call each, each with a commit of its own, and by thousands."""

import threading
import time
from collections.abc import Iterator
from typing import Any

from django.db import connection

from benchmarks.queue_table import BATCH
from benchmarks.run import Reading, Run
from benchmarks.tasks import noop

WARM_UP = 20  # calls of each thread that are not counted: they open connections and fill caches


def readings(run: Run) -> Iterator[Reading]:
    for threads in (1, 4):
        run.table.empty()
        run.table.settle()
        name = f"one at a time, {threads} thread{'s' if threads > 1 else ''}"
        yield Reading("enqueue", name, "tasks/s", one_at_a_time(threads, run.scale.seconds))
    if run.product.has_bulk:
        run.table.empty()
        run.table.settle()
        yield Reading("enqueue", f"enqueue_many by {BATCH:,}", "tasks/s", many(noop, run.scale.seconds))


def one_at_a_time(threads: int, seconds: float) -> float:
    counts = [0] * threads
    stop = threading.Event()
    warm = threading.Barrier(threads + 1)

    def enqueue(number: int) -> None:
        try:
            for call in range(WARM_UP):
                noop.enqueue(call)
            warm.wait()
            while not stop.is_set():
                noop.enqueue(counts[number])
                counts[number] += 1
        except BaseException:
            warm.abort()
            raise
        finally:
            connection.close()

    workers = [threading.Thread(target=enqueue, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    warm.wait()
    began, before = time.perf_counter(), sum(counts)
    stop.wait(seconds)
    rate = (sum(counts) - before) / (time.perf_counter() - began)
    stop.set()
    for worker in workers:
        worker.join()
    return rate


def many(definition: Any, seconds: float) -> float:
    calls: list[Any] = [((number,), {}) for number in range(BATCH)]
    definition.enqueue_many(calls)
    count, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        definition.enqueue_many(calls)
        count += BATCH
    return count / passed
