"""How many tasks to claim for two kinds of room, when a row does not say of which kind its task is."""

from dataclasses import dataclass, field
from math import ceil


@dataclass(slots=True)
class Room:
    """Learns from what was claimed of late. ``share``: how much of it was async, 0 to 1.

    A queue with sync tasks alone is never claimed beyond the threads; with async ones alone the claims grow to the
    event loop's concurrency within a few passes.
    """

    share: float = 0.0
    is_mixed: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_mixed = self.share >= LEAST_SHARE

    def note(self, claimed: int, are_async: int) -> None:
        if claimed:
            self.share = (self.share + are_async / claimed) / 2
            self.is_mixed = self.share >= LEAST_SHARE

    def size(self, for_threads: int, for_loop: int) -> int:
        """Return how many to claim. Both are free places, negative while more is in hand than can run."""
        if not self.is_mixed:
            return for_threads
        if for_loop > 0:
            return for_threads + ceil(for_loop * self.share)
        # Only threads are free. Most of what would come for them needs the loop, and would be given back; so a few
        # are tried, and fewer while such ones are in hand.
        return min(for_threads, max(1, int(for_threads * (1 - self.share)))) + for_loop


LEAST_SHARE = 0.01  # of async tasks; below that it is as if there were none
