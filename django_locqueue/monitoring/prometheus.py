"""The snapshots as metrics. ``REGISTRY.register(QueueCollector())`` adds them to an endpoint that a project has."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from django.db import Error
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from django_locqueue.observability.snapshot import QueueNow, QueueState, Snapshot, WorkerState, snapshot
from django_locqueue.observability.verdict import queue_databases
from django_locqueue.policies import legible

# Of a queue. What there is no value for is left out: a gap, and no false zero.
QUEUES: dict[str, tuple[str, Callable[[QueueNow], float | None]]] = {
    "oldest_ready_seconds": (
        "How long the longest-waiting task that could start has waited",
        lambda queue: queue.oldest_ready_seconds or 0.0,
    ),
    "failed_last_hour": ("Tasks that failed for good in the last hour", lambda queue: queue.failed_hour),
    "failed_last_day": ("Tasks that failed for good in the last 24 hours", lambda queue: queue.failed_24h),
    "finished_per_minute": ("Tasks that ended, a minute, in the last 15", lambda queue: queue.per_minute),
    "wait_seconds_p95": (
        "How long 95 of 100 tasks waited at most, in the last 15 minutes",
        lambda queue: queue.wait_p95,
    ),
    "queue_workers": ("Live workers that serve the queue", lambda queue: queue.workers),
    "queue_paused": ("Whether the queue is paused", lambda queue: queue.state == QueueState.PAUSED),
}
DATABASES: dict[str, tuple[str, Callable[[Snapshot], float | None]]] = {
    "slots": ("Tasks that the live workers can run at once", lambda found: found.slots),
    "slots_busy": ("Tasks that they run", lambda found: found.busy),
    "unknown_tasks": (
        "Tasks whose function no worker finds",
        lambda found: sum(unknown.count for unknown in found.unknown),
    ),
    "scheduler_active": ("Whether schedules are served, if there are any", lambda found: found.is_scheduling),
    "clock_difference_seconds": ("How far the database's clock is ahead", lambda found: found.clock_seconds),
    "missing_migrations": ("Migrations that are not applied", lambda found: len(found.missing_migrations)),
}


class QueueCollector(Collector):
    """Reads a snapshot of each queue database when it is asked: at most every ``ADMIN["COUNTS_SECONDS"]``."""

    def collect(self) -> Iterable[Metric]:
        up = _gauge("up", "Whether the database could be read", "database")
        found: list[Snapshot] = []
        for alias in queue_databases():
            try:
                found.append(snapshot(database=alias))
            except Error:
                up.add_metric([alias], 0)
            else:
                up.add_metric([alias], 1)
        yield up
        yield from _of_databases(found)
        yield from _of_queues([each for each in found if not each.missing_migrations])

    def describe(self) -> Iterable[Metric]:
        """Nothing: to be registered it need not be asked, which would read the database at import."""
        return ()


def exposition(accept: str) -> tuple[bytes, str]:
    """Return the metrics and their content type, in the newest format that ``accept`` names."""
    registry = CollectorRegistry()
    registry.register(QueueCollector())
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


def _of_databases(found: Iterable[Snapshot]) -> Iterator[Metric]:
    workers = _gauge("workers", "Workers that have not stopped, by state", "database", "state")
    for each in found:
        for state in WorkerState:
            workers.add_metric([each.database, state.value], sum(worker.state == state for worker in each.workers))
    yield workers
    for name, (text, value) in DATABASES.items():
        gauge = _gauge(name, text, "database")
        for each in found:
            _add(gauge, [each.database], value(each))
        yield gauge


def _of_queues(found: Iterable[Snapshot]) -> Iterator[Metric]:
    tasks = _gauge("tasks", "Tasks that have not ended, by state; counted up to 10,001", "database", "queue", "state")
    rows = [(each.database, legible.line(queue.name), queue) for each in found for queue in each.queues]
    for database, name, queue in rows:
        states = {
            "ready": queue.ready,
            "limited": queue.limited,
            "scheduled": queue.scheduled - queue.retrying,
            "retrying": queue.retrying,
            "running": queue.running,
        }
        for state, count in states.items():
            tasks.add_metric([database, name, state], count)
    yield tasks
    for metric, (text, value) in QUEUES.items():
        gauge = _gauge(metric, text, "database", "queue")
        for database, name, queue in rows:
            _add(gauge, [database, name], value(queue))
        yield gauge


def _gauge(name: str, text: str, *labels: str) -> Any:
    return GaugeMetricFamily(f"locqueue_{name}", f"{text}.", labels=labels)


def _add(gauge: Any, labels: list[str], value: float | None) -> None:
    if value is not None:
        gauge.add_metric(labels, value)
