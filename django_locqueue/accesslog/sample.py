"""A share of the requests, for sites that have too many."""

import random
from dataclasses import dataclass

SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Sample:
    """``rate``: the share that is kept, from 0 to 1. ``slow``: seconds from which a request is kept in any case."""

    rate: float
    slow: float

    def weight(self, status: int, duration: float) -> float:
        """Return how many requests a hit stands for; 0 for one that is left out. ``duration``: seconds.

        What went wrong or was slow is always kept and stands for itself, so sums of weights estimate all requests.
        """
        if status >= SERVER_ERROR or duration >= self.slow:
            return 1.0
        return 1 / self.rate if random.random() < self.rate else 0.0
