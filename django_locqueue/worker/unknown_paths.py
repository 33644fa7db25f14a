"""The paths that led to no definition, so that a backlog of such tasks costs no import for each."""

import logging
import time
from typing import Any

from django_locqueue.definition import resolve
from django_locqueue.exceptions import UnknownTask

logger = logging.getLogger("django_locqueue.task")

REMEMBERED_SECONDS = 5.0  # what kept a module from being imported may pass
LOGGED_SECONDS = 3600.0
MOST = 1000


class UnknownPaths:
    def __init__(self) -> None:
        self._found: dict[str, tuple[float, str]] = {}  # until when, and why
        self._logged: dict[str, float] = {}

    def resolve(self, path: str) -> Any:
        """Return the definition at ``path``. Raises :class:`UnknownTask`, and says it in the log once an hour."""
        until, reason = self._found.get(path, (0.0, ""))
        present = time.monotonic()
        if present < until:
            raise UnknownTask(reason)
        try:
            return resolve(path)
        except UnknownTask as error:
            for remembered in (self._found, self._logged):
                if len(remembered) >= MOST:
                    remembered.clear()
            self._found[path] = (present + REMEMBERED_SECONDS, str(error))
            if present >= self._logged.get(path, 0.0):
                self._logged[path] = present + LOGGED_SECONDS
                logger.warning("%s Its tasks are put back: another worker may know it.", error)
            raise
