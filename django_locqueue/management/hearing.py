"""Who hears a worker: the project's own logging, or the terminal where it has said nothing."""

import logging
import re
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, TextIO

from django.db.backends.signals import connection_created

from django_locqueue.observability import formats, framework_log
from django_locqueue.observability.logs import span

LEVELS = {0: logging.ERROR, 1: logging.INFO, 2: logging.DEBUG, 3: logging.DEBUG}
SQL = "django.db.backends"
_TABLE = re.compile(r"\b(?:FROM|INTO|UPDATE)\s+[\"`]?(\w+)")


class Handler(logging.StreamHandler[TextIO]):
    """Writes to standard error. ``clear()`` is called before each line: a bar of progress may stand there."""

    def __init__(self, formatter: logging.Formatter, clear: Callable[[], None] = lambda: None) -> None:
        super().__init__(sys.stderr)
        self.setFormatter(formatter)
        self.clear = clear

    def emit(self, record: logging.LogRecord) -> None:
        self.clear()
        super().emit(record)


def set_up(undo: ExitStack, verbosity: int, log_format: str, process: str, level: int | None = None) -> Handler | None:
    """Write our lines to standard error unless the project's LOGGING does something with them; return the handler.

    ``process``: the name of this process, where several write to one terminal. ``level``: another than the verbosity's.
    What is set up is taken back by ``undo``.
    """
    # A task may close the standard streams. A line that cannot be written must not end the thread that writes it.
    undo.callback(setattr, logging, "raiseExceptions", logging.raiseExceptions)
    logging.raiseExceptions = False
    logger = logging.getLogger("django_locqueue")
    if logger.hasHandlers():
        return None
    handler = Handler(formats.formatter(log_format, verbosity, process))
    _add(undo, logger, handler, LEVELS[verbosity] if level is None else level)
    undo.enter_context(framework_log.left_out())
    if verbosity >= 3:
        # Those of tasks: the worker's own hot ones do not pass through Django's cursor.
        _add(undo, logging.getLogger(SQL), handler, logging.DEBUG)
        handler.addFilter(_without_values)
        connection_created.connect(_time_statements)
        undo.callback(connection_created.disconnect, _time_statements)
    return handler


def _add(undo: ExitStack, logger: logging.Logger, handler: logging.Handler, level: int) -> None:
    undo.callback(logger.setLevel, logger.level)
    undo.callback(logger.removeHandler, handler)
    logger.addHandler(handler)
    logger.setLevel(level)


def _without_values(record: logging.LogRecord) -> bool:
    """Leave of a statement its time, its verb and its table: its values are what masking hides."""
    if record.name == SQL:
        text = str(getattr(record, "sql", None) or "").strip()
        found = _TABLE.search(text)
        table = found[1] if found else ""
        record.msg = "sql    %s  %s %s"
        record.args = (span(getattr(record, "duration", 0.0)), text.split(maxsplit=1)[0] if text else "", table)
    return True


def _time_statements(connection: Any, **kwargs: Any) -> None:
    connection.force_debug_cursor = True
