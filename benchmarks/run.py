"""One product on one database, measured once: ``python -m benchmarks.run``, started by ``python -m benchmarks``.

In a process of its own, since Django has one set of settings a process. Prints one JSON object a line: what a measure
yields, as soon as it is known.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import django

from benchmarks.product import KNOWN, Product

if TYPE_CHECKING:
    from benchmarks.queue_table import QueueTable

MEASURES = (
    "enqueue",
    "drain",
    "limit",
    "latency",
    "backlog",
    "snapshot",
    "idle",
    "middleware",
    "analytics",
    "import",
    "profile",
)


@dataclass(frozen=True)
class Reading:
    """A number that was measured. ``series``: how it came about over time, for a plot."""

    measure: str
    name: str
    unit: str
    value: float
    series: Sequence[float] = ()


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    seconds: float = 5  # of enqueueing
    window_seconds: float = 6  # of serving from a backlog that need not become empty
    drain_share: float = 1
    latency_tasks: int = 500
    due_tasks: int = 20
    idle_seconds: float = 20
    backlogs: Sequence[int] = (0, 10_000, 100_000, 1_000_000)
    snapshot_seconds: float = 60
    requests: int = 20_000
    logged_requests: int = 1_000_000
    imported_lines: int = 500_000


QUICK = Scale(
    seconds=1,
    window_seconds=3,
    drain_share=0.03,
    latency_tasks=50,
    due_tasks=3,
    idle_seconds=3,
    backlogs=(0, 10_000),
    snapshot_seconds=10,
    requests=1_000,
    logged_requests=50_000,
    imported_lines=20_000,
)


@dataclass(frozen=True)
class Run:
    product: Product
    table: "QueueTable"
    scale: Scale

    @property
    def drain_tasks(self) -> int:
        return max(500, int(self.product.drain_tasks * self.scale.drain_share))


def measure_functions() -> dict[str, Callable[[Run], Iterator[Reading]]]:
    from benchmarks import (
        analytics,
        backlog,
        drain,
        enqueue,
        idle,
        latency,
        limit,
        log_import,
        middleware,
        profile,
        snapshot,
    )

    modules = (enqueue, drain, limit, latency, backlog, snapshot, idle, middleware, analytics, log_import, profile)
    return {name: module.readings for name, module in zip(MEASURES, modules, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(MEASURES))
    parser.add_argument("--scale", default="{}")
    options = parser.parse_args()
    os.environ["DJANGO_SETTINGS_MODULE"] = "benchmarks.settings"
    django.setup()
    from django.core.management import call_command

    from benchmarks.queue_table import QueueTable

    call_command("migrate", run_syncdb=True, verbosity=0)
    product = KNOWN[os.environ["BENCHMARK_PRODUCT"]]
    run = Run(product, QueueTable(product), Scale(**json.loads(options.scale)))
    functions = measure_functions()
    for name in options.only.split(","):
        for reading in functions[name](run):
            sys.stdout.write(json.dumps(asdict(reading)) + "\n")
            sys.stdout.flush()
        run.table.empty()


if __name__ == "__main__":
    from benchmarks import run as module

    module.main()  # as measures import it: one Reading, not two
