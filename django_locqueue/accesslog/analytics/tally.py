"""The requests of an hour, added up by key."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import nlargest

from django_locqueue.accesslog.analytics.keys import REST
from django_locqueue.accesslog.models import HourlyStat

# Keys of a dimension that get rows of their own in an hour: the busiest. More would make a crawl of a million addresses
# a million rows, of which no page shows one.
MOST_KEYS = 1000


@dataclass(slots=True)
class Tally:
    """Sums of weights; they become whole numbers when all is added."""

    hits: float = 0.0
    errors: float = 0.0
    total_ms: float = 0.0
    longest_ms: float = 0.0
    histogram: dict[int, float] = field(default_factory=dict)

    def add(self, duration_class: int, hits: float, errors: float, total_ms: float, longest_ms: float) -> None:
        self.hits += hits
        self.errors += errors
        self.total_ms += total_ms
        self.longest_ms = max(self.longest_ms, longest_ms)
        self.histogram[duration_class] = self.histogram.get(duration_class, 0.0) + hits

    def merge(self, other: "Tally") -> None:
        self.hits += other.hits
        self.errors += other.errors
        self.total_ms += other.total_ms
        self.longest_ms = max(self.longest_ms, other.longest_ms)
        for duration_class, hits in other.histogram.items():
            self.histogram[duration_class] = self.histogram.get(duration_class, 0.0) + hits


class Tallies:
    """One tally for each key, those of bots apart."""

    def __init__(self) -> None:
        self._tallies: dict[tuple[str, bool], Tally] = {}

    def __getitem__(self, key: tuple[str, bool]) -> Tally:
        return self._tallies.setdefault(key, Tally())

    def rows(self, hour: datetime.datetime, dimension: str) -> Iterator[HourlyStat]:
        """Give the rows to be stored: those of the busiest keys, and what is left over as one key."""
        for (key, is_bot), tally in self._shortened().items():
            yield HourlyStat(
                hour=hour,
                dimension=dimension,
                key=key,
                is_bot=is_bot,
                hits=round(tally.hits),
                errors=round(tally.errors),
                total_ms=tally.total_ms,
                longest_ms=tally.longest_ms,
                histogram={str(number): round(hits) for number, hits in sorted(tally.histogram.items())},
            )

    def _shortened(self) -> dict[tuple[str, bool], Tally]:
        hits: dict[str, float] = {}
        for (key, _is_bot), tally in self._tallies.items():
            if key != REST:
                hits[key] = hits.get(key, 0.0) + tally.hits
        if len(hits) <= MOST_KEYS:
            return self._tallies
        busiest = set(nlargest(MOST_KEYS, hits, key=lambda key: (hits[key], key)))
        kept: dict[tuple[str, bool], Tally] = {}
        for (key, is_bot), tally in self._tallies.items():
            if key in busiest:
                kept[key, is_bot] = tally
            else:
                kept.setdefault((REST, is_bot), Tally()).merge(tally)
        return kept
