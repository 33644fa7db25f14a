"""How many requests took how long, in fixed classes: counts of hours can be added up, percentiles cannot.

The classes end at the numbers of the E12 series (IEC 60063), twelve to the power of ten: 10, 12, 15, 18, 22 ... ms. A
percentile is therefore right to a tenth, which is as far as one of a day's requests means anything.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from math import sqrt

from django.db.models import Func, IntegerField

_E12 = (1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 3.9, 4.7, 5.6, 6.8, 8.2)

# The greatest duration of each class, in ms: from 0.1 ms to 100 s. What took longer is in one class more.
BOUNDS: tuple[float, ...] = (*(float(f"{digits}e{power}") for power in range(-1, 5) for digits in _E12), 1e5)

Histogram = Mapping[str, int]  # requests by class; a text, since it is a key in JSON


def class_of(duration_ms: float) -> int:
    """Return the number of the class that a duration belongs to."""
    return bisect_left(BOUNDS, duration_ms)


def _search(low: int, high: int) -> str:
    if low == high:
        return str(low)
    middle = (low + high) // 2
    below, above = _search(low, middle), _search(middle + 1, high)
    return f"CASE WHEN %(expressions)s <= {BOUNDS[middle]!r} THEN {below} ELSE {above} END"


class ClassOf(Func):
    """``class_of`` a column. A binary search, made once: of Case objects it would take longer than some queries."""

    template = _search(0, len(BOUNDS))
    output_field = IntegerField()


def merged(histograms: Iterable[Histogram]) -> dict[str, int]:
    """Return the sum of histograms."""
    total: dict[str, int] = {}
    for histogram in histograms:
        for number, hits in histogram.items():
            total[number] = total.get(number, 0) + hits
    return total


def percentile(histogram: Histogram, share: float, longest_ms: float) -> float | None:
    """Return the duration, in ms, that ``share`` (0.95) of the requests did not exceed; None if there are none.

    It is the middle of its class, by ratio, and never more than ``longest_ms``, the longest that there was.
    """
    wanted = share * sum(histogram.values())
    seen = 0
    for number, hits in sorted((int(number), hits) for number, hits in histogram.items()):
        seen += hits
        if hits and seen >= wanted:
            return min(_middle(number), longest_ms)
    return None


def _middle(number: int) -> float:
    if number == 0:
        return BOUNDS[0]
    if number == len(BOUNDS):
        return float("inf")  # the longest of all is what is known of them
    return sqrt(BOUNDS[number - 1] * BOUNDS[number])
