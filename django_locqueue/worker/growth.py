"""When a worker with a range of threads takes one more."""

import time

GROW_SECONDS = 0.05  # how long every thread must have been busy, with more tasks waiting


class Growth:
    """Notes since when threads are short. A burst of tiny tasks is over sooner than a thread could help."""

    def __init__(self) -> None:
        self._since: float | None = None

    def is_due(self, *, is_short: bool) -> bool:
        """Return whether to add a thread now. ``is_short``: all are busy, and more tasks are ready."""
        now = time.monotonic()
        if not is_short:
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since >= GROW_SECONDS:
            self._since = now  # the next only if this one is not enough
            return True
        return False
