"""What becomes of a task whose path leads to no definition here: it goes back, since another version may have it."""

import logging
import time
from typing import Any

from django.db import Error

from django_locqueue import conf
from django_locqueue.definition import resolve
from django_locqueue.exceptions import UnknownTask
from django_locqueue.policies import expiry
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from django_locqueue.store import Claimed, Store

logger = logging.getLogger("django_locqueue.task")

REMEMBERED_SECONDS = 5.0  # what kept a module from being imported may pass
LOGGED_SECONDS = 3600.0
MOST = 1000


class UnknownPaths:
    """Remembers the paths that led nowhere, so that a backlog of such tasks costs no import for each."""

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
                logger.warning("%s. Its tasks are put back: another worker may know it.", str(error).rstrip("."))
            raise

    def outcome(self, store: Store, claimed: Claimed, error: UnknownTask) -> Outcome:
        """Return what follows for a task. Times are the database's, those of the claims that met it."""
        met = claimed.last_attempted_at
        try:
            # The first claim ever needs no look: of a backlog it is the first pass that takes long.
            since = met if claimed.claim_no == 1 else store.unknown_since(claimed.id) or met
        except Error:
            logger.warning("#%d could not begin, because the database failed.", claimed.id, exc_info=True)
            return Outcome(Kind.RELEASED, delay=expiry.FIRST_SECONDS)
        limit = float(conf.worker.UNKNOWN_TASK_SECONDS)
        delay = expiry.wait_for_definition((met - since).total_seconds(), limit)
        if delay is None:
            late = UnknownTask(f"No worker has known it for {limit:g} s: {error}")
            return Outcome(Kind.FAILED, error=ErrorReport.of(late), exception=late)
        report = ErrorReport.of(error)
        columns = {"unknown_since": since, "error_class": report.class_path, "error_message": report.message}
        return Outcome(Kind.RELEASED, delay=delay, columns=columns)
