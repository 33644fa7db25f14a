"""When a worker process has done enough and leaves, so that a fresh one can take its place."""

import resource
import sys
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1 << 20
_STATM = Path("/proc/self/statm")


@dataclass(frozen=True, slots=True)
class Quota:
    """None: no limit. ``rss`` in megabytes."""

    tasks: int | None = None
    seconds: float | None = None
    rss: float | None = None

    def reached(self, *, tasks: int, seconds: float) -> str | None:
        """Return in words which limit a process has reached that ran so many tasks, so long; None if none."""
        if self.tasks is not None and tasks >= self.tasks:
            return f"it has run {tasks:,} tasks (--max-tasks)"
        if self.seconds is not None and seconds >= self.seconds:
            return f"it has run for {seconds:.0f} s (--max-time)"
        if self.rss is not None and (used := resident_megabytes()) >= self.rss:
            return f"it holds {used:.0f} MB of memory (--max-rss)"
        return None


UNLIMITED = Quota()


def resident_megabytes() -> float:
    """Return the memory that this process holds; where the system only knows the most it ever held, that."""
    try:
        pages = int(_STATM.read_text().split()[1])
    except (OSError, ValueError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most / (MEGABYTE if sys.platform == "darwin" else 1024)
    return pages * resource.getpagesize() / MEGABYTE
