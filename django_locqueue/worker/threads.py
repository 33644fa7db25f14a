"""How many threads a worker has: a number, or as many as the backlog needs between two."""

import re
from typing import Any, NamedTuple

from django_locqueue.worker.slots import MOST_THREADS

EXPECTED = f"a whole number from 1 to {MOST_THREADS}, or a range such as 2-16"


class ThreadRange(NamedTuple):
    least: int
    most: int

    @classmethod
    def of(cls, value: Any) -> "ThreadRange":
        """Read ``4``, ``"4"``, ``"2-16"`` or ``(2, 16)``. Raises ValueError that says what was expected."""
        match value:
            case str() if found := re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", value):
                least, most = int(found[1]), int(found[2] or found[1])
            case (least, most):
                pass
            case least:
                most = least
        if not (_is_whole(least) and _is_whole(most) and 1 <= least <= most <= MOST_THREADS):
            raise ValueError(f"must be {EXPECTED}, got {value!r}.")
        return cls(least, most)

    def __str__(self) -> str:
        return str(self.most) if self.least == self.most else f"{self.least}-{self.most}"


def _is_whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)
