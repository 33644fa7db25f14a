"""System checks of where hits go: the backend that logs, and the folder that keeps them."""

import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from django_locqueue.accesslog.conf import access_log
from django_locqueue.accesslog.delivery import HITS_LOGGER
from django_locqueue.accesslog.kinds import setting
from django_locqueue.accesslog.spool import WHOLE

# The address space of a site whose web server hands out files: what is in there, anybody can fetch.
SERVED = ("MEDIA_ROOT", "STATIC_ROOT")


@register()
def check_recorder(**_: Any) -> list[CheckMessage]:
    if not access_log.ENABLED:
        return []
    return [*_spool(), *_logging()]


def _spool() -> Iterator[CheckMessage]:
    given = access_log.SPOOL_DIR
    if given is not None and not (isinstance(given, str | os.PathLike) and str(given)):
        yield Error(
            f"{setting('SPOOL_DIR')} is {given!r}.",
            hint="Write the path of a folder, or None.",
            id="locqueue_accesslog.E030",
        )
        return
    if access_log.OVERFLOW != "spool":
        if given is not None and any(Path(given).glob(f"*{WHOLE}")):
            yield Warning(
                f"There are logged requests in {str(given)!r} that nobody will send.",
                hint=f'Set {setting("OVERFLOW")} to "spool" again until the folder is empty, or empty it.',
                id="locqueue_accesslog.W031",
            )
        return
    if given is None:
        yield Error(
            f'{setting("OVERFLOW")} is "spool", but {setting("SPOOL_DIR")} names no folder.',
            hint="Make a folder that the site may write to and nobody else may read, and write its path there.",
            id="locqueue_accesslog.E031",
        )
        return
    folder = Path(given)
    if not folder.is_absolute():
        yield Error(
            f"{setting('SPOOL_DIR')} is {str(folder)!r}: where that is depends on how each process is started.",
            hint="Write an absolute path.",
            id="locqueue_accesslog.E032",
        )
    elif not folder.is_dir() or not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        problem = "cannot be read and written by this user" if folder.is_dir() else "is no folder"
        yield Error(
            f"{setting('SPOOL_DIR')} is {str(folder)!r}, which {problem}.",
            hint=f"As the user that runs the site: mkdir -m 700 {folder}",
            id="locqueue_accesslog.E033",
        )
    for name in SERVED:
        root = getattr(settings, name, None)
        if root and folder.is_absolute() and folder.resolve().is_relative_to(Path(root).resolve()):
            yield Error(
                f"{setting('SPOOL_DIR')} is inside {name}: visitors could fetch the addresses of others.",
                hint="Use a folder outside of it.",
                id="locqueue_accesslog.E034",
            )


def _logging() -> Iterator[CheckMessage]:
    logger = logging.getLogger(HITS_LOGGER)
    if access_log.BACKEND == "logging" and not (logger.isEnabledFor(logging.INFO) and logger.hasHandlers()):
        yield Warning(
            f'{setting("BACKEND")} is "logging", but the logger {HITS_LOGGER} drops lines of the level INFO.',
            hint=f'Give it a handler and a level in LOGGING: "loggers": {{"{HITS_LOGGER}": '
            '{"handlers": [...], "level": "INFO", "propagate": False}}.',
            id="locqueue_accesslog.W030",
        )
