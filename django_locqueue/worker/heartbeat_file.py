"""A file whose time says that a worker beats: what a container's or a service manager's probe can look at."""

import logging
from pathlib import Path

logger = logging.getLogger("django_locqueue.worker")


class HeartbeatFile:
    """``touch()`` with each heartbeat; ``remove()`` when the worker has left. Neither raises: tasks come first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._works = True

    def touch(self) -> None:
        try:
            self.path.touch()
        except OSError as error:
            if self._works:
                logger.warning("The heartbeat file cannot be written, and is tried again: %s", error)
            self._works = False
        else:
            self._works = True

    def remove(self) -> None:
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            logger.warning("The heartbeat file cannot be removed: %s", error)
