"""How many waits or runs took how long, in fixed bins: counts of minutes can be added up, percentiles cannot.

The bins end at 1 and 3 of each power of ten, from a millisecond to three hours. Within a bin a percentile is put where
it would be if the logarithms were spread evenly, so it is wrong by half in the worst case, and mostly by a tenth.
"""

from collections.abc import Sequence

# The greatest number of seconds in each bin, which `bisect_left` finds; what took longer is in one bin more.
BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0)
BINS = len(BOUNDS) + 1


def percentile(counts: Sequence[int], share: float) -> float | None:
    """Return the seconds that ``share`` (0.95) did not exceed; None if there are none.

    ``counts``: one for each bin. Of what is in the last bin only the bound is known: so long, at least.
    """
    wanted = share * sum(counts)
    seen = 0
    for number, count in enumerate(counts):
        if count and seen + count >= wanted:
            return _within(number, (wanted - seen) / count)
        seen += count
    return None


def _within(number: int, share: float) -> float:
    if number == len(BOUNDS):
        return BOUNDS[-1]
    if number == 0:
        return BOUNDS[0] * share
    low, high = BOUNDS[number - 1], BOUNDS[number]
    return float(low * (high / low) ** share)
