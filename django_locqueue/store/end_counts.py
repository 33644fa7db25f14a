"""What is known of attempts that have ended and is not in the counts yet: a value that grows, and is then written."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from django_locqueue.models import TaskStat
from django_locqueue.policies.fingerprint import ErrorKind, Place
from django_locqueue.policies.histogram import BINS

SPANS = (TaskStat.MINUTE, TaskStat.HOUR, TaskStat.DAY)
HOUR = TaskStat.HOUR

# What a row adds up, as a list in this order, since an index into a list is the quickest there is.
COLUMNS = (
    *TaskStat.COUNTS,
    *("wait_seconds", "run_seconds"),
    *(f"{what}_{number}" for what in ("wait", "run") for number in range(BINS)),
)
SUCCEEDED, FAILED, RETRIED, CANCELLED, WAIT, RUN, WAIT_BINS = range(7)
RUN_BINS = WAIT_BINS + BINS
NOTHING = (0, 0, 0, 0, 0.0, 0.0, *(0 for _ in range(2 * BINS)))

StatKey = tuple[int, float, str, str]  # seconds, start as a timestamp, queue, task path
Sums = list[float]


@dataclass(slots=True)
class Failures:
    """Of one kind. Times are timestamps. ``task_path``, ``place``: of the last."""

    kind: ErrorKind
    first: float
    last: float
    count: int
    task_path: str
    place: Place | None

    def add(self, other: "Failures") -> None:
        if other.last >= self.last:
            self.task_path, self.place = other.task_path, other.place
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
        self.count += other.count


@dataclass(slots=True)
class EndCounts:
    """``Store.add_end_counts`` takes out of it what it has written, so that a failure leaves the rest."""

    stats: dict[StatKey, Sums] = field(default_factory=dict)
    groups: dict[str, Failures] = field(default_factory=dict)  # by fingerprint
    hours: dict[tuple[str, float], int] = field(default_factory=dict)  # by fingerprint and start as a timestamp

    def __bool__(self) -> bool:
        return bool(self.stats or self.groups or self.hours)

    def __len__(self) -> int:
        """How many rows it concerns."""
        return len(self.stats) + len(self.groups) + len(self.hours)

    def add(self, at: float, queue_name: str, task_path: str, sums: Sequence[float]) -> None:
        """Count what ended at ``at``, a timestamp of the database's clock."""
        for seconds in SPANS:
            self._add_sums((seconds, at // seconds * seconds, queue_name, task_path), sums)

    def add_one(self, at: float, queue_name: str, task_path: str, column: int) -> None:
        """Count one attempt of which nobody knows how long it waited and ran."""
        sums = list(NOTHING)
        sums[column] = 1
        self.add(at, queue_name, task_path, sums)

    def add_failures(self, failures: Failures) -> None:
        self._add_group(failures)
        self._add_hour((failures.kind.fingerprint, failures.last // HOUR * HOUR), failures.count)

    def merge(self, others: "EndCounts") -> None:
        for key, sums in others.stats.items():
            self._add_sums(key, sums)
        for failures in others.groups.values():
            self._add_group(failures)
        for hour, count in others.hours.items():
            self._add_hour(hour, count)

    def drop(self, most: int) -> int:
        """Forget the oldest rows above ``most``; return how many."""
        rows: list[tuple[float, dict[Any, Any], Any]] = [
            *((key[1], self.stats, key) for key in self.stats),
            *((failures.first, self.groups, key) for key, failures in self.groups.items()),
            *((key[1], self.hours, key) for key in self.hours),
        ]
        oldest = sorted(rows, key=itemgetter(0))[: max(0, len(rows) - most)]
        for _, part, key in oldest:
            del part[key]
        return len(oldest)

    def _add_sums(self, key: StatKey, sums: Sequence[float]) -> None:
        known = self.stats.get(key)
        self.stats[key] = list(sums) if known is None else [old + new for old, new in zip(known, sums, strict=True)]

    def _add_group(self, failures: Failures) -> None:
        known = self.groups.get(failures.kind.fingerprint)
        if known is None:
            self.groups[failures.kind.fingerprint] = replace(failures)
        else:
            known.add(failures)

    def _add_hour(self, hour: tuple[str, float], count: int) -> None:
        self.hours[hour] = self.hours.get(hour, 0) + count
