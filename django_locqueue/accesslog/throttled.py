"""Log lines about our own trouble: the first at once, then at most one a minute, saying how many it stands for."""

import logging
import os
import threading
import time

INTERVAL_SECONDS = 60.0


class ThrottledLogger:
    """Keeps a fault that repeats with every request from filling the log it reports to."""

    def __init__(self, logger: logging.Logger, interval: float = INTERVAL_SECONDS) -> None:
        self.logger = logger
        self.interval = interval
        self._next: dict[str, float] = {}  # per message: when it may appear again
        self._held_back: dict[str, int] = {}
        self._unlock()
        os.register_at_fork(after_in_child=self._unlock)

    def _unlock(self) -> None:
        # A thread that logs while another forks would leave the child a lock that nobody opens.
        self._lock = threading.Lock()

    def warning(self, message: str, *args: object) -> None:
        """Log ``message % args``, unless the same message was logged within the interval."""
        self._log(message, args, with_traceback=False)

    def failure(self, message: str, *args: object) -> None:
        """``warning`` with the traceback of the exception that is being handled."""
        self._log(message, args, with_traceback=True)

    def _log(self, message: str, args: tuple[object, ...], *, with_traceback: bool) -> None:
        now = time.monotonic()
        with self._lock:
            if now < self._next.get(message, 0):
                self._held_back[message] = self._held_back.get(message, 0) + 1
                return
            self._next[message] = now + self.interval
            held_back = self._held_back.pop(message, 0)
        if held_back:
            message += f" (and {held_back} more since the last such line)"
        self.logger.warning(message, *args, exc_info=with_traceback)
