"""Times in bins, and what can still be said of them."""

import random
from bisect import bisect_left

import pytest

from django_locqueue.policies.histogram import BINS, BOUNDS, percentile


@pytest.mark.parametrize(
    ("seconds", "number"),
    [
        (-1.0, 0),
        (0.0, 0),
        (0.001, 0),
        (0.0011, 1),
        (1.0, 6),
        (10_000.0, BINS - 2),
        (10_000.1, BINS - 1),
        (1e9, BINS - 1),
    ],
)
def test_a_bin_ends_with_its_bound(seconds: float, number: int):
    assert bisect_left(BOUNDS, seconds) == number


def counted(values: list[float]) -> list[int]:
    counts = [0] * BINS
    for value in values:
        counts[bisect_left(BOUNDS, value)] += 1
    return counts


def test_of_nothing_there_is_no_percentile():
    assert percentile([0] * BINS, 0.95) is None


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_a_percentile_is_right_to_a_fifth_for_times_as_they_are(share: float):
    chance = random.Random(7)
    values = sorted(chance.lognormvariate(-1, 1.5) for _ in range(5000))
    found = percentile(counted(values), share)
    assert found == pytest.approx(values[int(share * len(values))], rel=0.2)


def test_of_what_took_longest_only_the_bound_is_known():
    assert percentile(counted([50_000.0]), 0.95) == BOUNDS[-1]
