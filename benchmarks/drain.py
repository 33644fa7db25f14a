"""Tasks that workers finish in a second, from a backlog that was there before they started."""

from collections.abc import Iterator
from typing import Any

from benchmarks.product import Configuration
from benchmarks.run import Reading, Run
from benchmarks.tasks import insert, noop
from benchmarks.worker import Workers


def readings(run: Run) -> Iterator[Reading]:
    best, count = run.product.best, run.drain_tasks
    yield Reading("drain", "no-op, defaults", "tasks/s", drained(run, noop, run.product.defaults, count // 2))
    yield Reading("drain", "no-op, best configuration", "tasks/s", drained(run, noop, best, count))
    yield Reading(
        "drain", "one INSERT, best configuration", "tasks/s", drained(run, insert, run.product.waiting, count // 4)
    )


def drained(run: Run, definition: Any, configuration: Configuration, count: int) -> float:
    """The workers leave by themselves when nothing is left, so that no query of ours runs beside them."""
    run.table.empty()
    run.table.fill(definition, count)
    run.table.settle()
    with Workers(run.product, configuration, leave_when_empty=True) as workers:
        if not workers.wait():
            raise RuntimeError(f"{run.product.name} did not finish {count} tasks in time.")
    return run.table.rate(expected=count)
