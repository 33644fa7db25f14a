"""Whether the queue is well: what snapshots say, held against what somebody is willing to accept."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from django.db import Error

from django_locqueue import conf
from django_locqueue.models import Queue
from django_locqueue.models.fields import queue_database
from django_locqueue.observability.logs import duration, safe
from django_locqueue.observability.snapshot import QueueNow, QueueState, Snapshot, snapshot
from django_locqueue.observability.stats import tasks_text
from django_locqueue.policies.outcome import first_line

CLOCK_SECONDS = 5.0  # that two clocks may differ


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"
    UNKNOWN = "unknown"

    @property
    def code(self) -> int:
        """The exit code, in the order of Nagios."""
        return list(Level).index(self)


_WORST_LAST = (Level.OK, Level.WARNING, Level.UNKNOWN, Level.CRITICAL)


@dataclass(frozen=True, slots=True)
class Limits:
    """``max_wait``: seconds that a ready task may wait; ``max_failed``: tasks that may have failed in an hour."""

    max_wait: float
    max_failed: int
    min_workers: int

    @classmethod
    def from_settings(cls) -> Self:
        given = conf.monitoring
        return cls(given.MAX_WAIT_SECONDS, given.MAX_FAILED, given.MIN_WORKERS)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``problems``: a sentence each, the most serious first."""

    level: Level
    problems: Sequence[str]


def snapshots(*, fresh: bool = False, databases: Iterable[str] | None = None) -> list[Snapshot]:
    """Return one for each database that holds a queue, in the order of ``TASKS``."""
    chosen = queue_databases() if databases is None else list(databases)
    return [snapshot(fresh=fresh, database=alias) for alias in chosen]


def queue_databases() -> list[str]:
    """Return the databases of our backends, each once, in the order of ``TASKS``."""
    return list(dict.fromkeys(queue_database(Queue, alias) for alias in conf.our_backends()))


def judge(found: Sequence[Snapshot], limits: Limits, queue: str = "") -> Verdict:
    """Return whether all is well, in the databases or with one queue."""
    problems = [
        (level, f"{each.database}: {text}" if len(found) > 1 else text)
        for each in found
        for level, text in _problems(each, limits, queue)
    ]
    problems.sort(key=lambda problem: -_WORST_LAST.index(problem[0]))  # stable: in the order in which they are told
    return Verdict(problems[0][0] if problems else Level.OK, [text for _, text in problems])


def unreadable(error: Error | None = None) -> Verdict:
    """Return the verdict on a database that gave no answer. ``error``: where whoever reads it may know its words."""
    words = "" if error is None else safe(first_line(error))
    return Verdict(Level.UNKNOWN, ["The queue's database cannot be read" + (f": {words}" if words else "")])


def facts(found: Sequence[Snapshot]) -> str:
    """Return how it stands in half a sentence."""
    workers = sum(len(each.live_workers) for each in found)
    oldest = [each.oldest_ready_seconds for each in found if each.oldest_ready_seconds is not None]
    return (
        f"{workers} worker{'' if workers == 1 else 's'}, "
        f"{sum(each.busy for each in found)} of {sum(each.slots for each in found)} slots busy, "
        + (f"oldest task waits {duration(max(oldest))}" if oldest else "nothing waits")
    )


def _problems(found: Snapshot, limits: Limits, queue: str) -> Iterator[tuple[Level, str]]:
    if found.missing_migrations:
        yield Level.UNKNOWN, "The task queue has database changes that are not applied: python manage.py migrate"
        return
    queues = [each for each in found.queues if not queue or each.name == queue]
    if queue and not queues:
        return  # it is in another database
    yield from _workers(found, queues, limits, queue)
    for each in queues:
        yield from _waiting(each, limits)
    failed = sum(each.failed_hour for each in queues) if queue else found.failed_hour
    if failed > limits.max_failed:
        yield Level.WARNING, f"{tasks_text(failed)} failed in the last hour"
    if queue:
        return
    for unknown in found.unknown:
        named = f"{tasks_text(unknown.count)} name{_s(unknown.count)}"
        yield Level.WARNING, f"{named} a function that no longer exists: {safe(unknown.path)}"
    if not found.is_scheduling:
        yield Level.WARNING, "No scheduler is active. Scheduled tasks will not be created"
    if found.late_seconds:
        yield Level.WARNING, f"The database is slow: these numbers are {duration(found.late_seconds)} old"
    if abs(found.clock_seconds) > CLOCK_SECONDS:
        yield Level.WARNING, f"The database clock and this server differ by {duration(abs(found.clock_seconds))}"


def _workers(found: Snapshot, queues: Sequence[QueueNow], limits: Limits, queue: str) -> Iterator[tuple[Level, str]]:
    live = [worker for worker in found.live_workers if not queue or worker.serves(queue)]
    wanted = f", {limits.min_workers} wanted" if limits.min_workers > 1 else ""
    if len(live) < limits.min_workers:
        who = f"{len(live) or 'No'} worker{'s' if len(live) > 1 else ''}"
        if queue:
            yield Level.CRITICAL, f'{who} serve{"" if len(live) > 1 else "s"} queue "{safe(queue)}"{wanted}'
        elif live:
            yield Level.CRITICAL, f"{who} {'are' if len(live) > 1 else 'is'} running{wanted}"
        else:
            cure = "Tasks wait until you start one: python manage.py runqueue"
            yield Level.CRITICAL, f"No worker is running{wanted}. {cure}"
    if found.live_workers:
        for each in queues:
            if each in found.unserved:
                cure = f"Start one: python manage.py runqueue --queue {shlex.quote(safe(each.name))}"
                waiting = tasks_text(each.ready + each.limited)
                yield Level.CRITICAL, f'Queue "{safe(each.name)}" has {waiting}, but no worker listens to it. {cure}'


def _waiting(queue: QueueNow, limits: Limits) -> Iterator[tuple[Level, str]]:
    name, waiting, oldest = safe(queue.name), queue.ready + queue.limited, queue.oldest_ready_seconds
    if queue.state == QueueState.PAUSED:
        if waiting:
            yield Level.WARNING, f'Queue "{name}" is paused, and {tasks_text(waiting)} wait{_s(waiting)} in it'
    elif oldest is not None and oldest > limits.max_wait:
        yield Level.CRITICAL, f'The oldest task in "{name}" has waited {duration(oldest)}'


def _s(count: int) -> str:
    """Return the ending of a verb in the third person."""
    return "s" if count == 1 else ""
