"""How a worker's lines look where the project's LOGGING does not say: as text, as JSON or as logfmt.

What is known of an event travels in the record's ``locqueue`` attribute, under the names that the JSON of pages and
commands has too; a formatter of the project may read it there.
"""

import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from django_locqueue.policies import legible, masking

FORMATS = ("text", "json", "logfmt")


class TextLine(logging.Formatter):
    """For people: ``14:02:11 INFO  done   send_receipt #48211 …``. ``process``: its name, where several write here."""

    def __init__(self, verbosity: int = 1, process: str = "") -> None:
        named = process.replace("%", "%%") + "  " if process else ""
        super().__init__(f"%(asctime)s %(levelname)-5s {named}%(message)s", "%H:%M:%S")
        self.verbosity = verbosity

    def format(self, record: logging.LogRecord) -> str:
        record.levelname = record.levelname.replace("WARNING", "WARN")
        if self.verbosity < 2 and record.name == "django_locqueue.task":
            record.exc_info = record.exc_text = None  # the line says where; all of it is in the database
        return super().format(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return masking.mask_text(super().formatException(ei))


class _FieldsLine(logging.Formatter):
    """For machines: one line an event, whatever is in its texts."""

    def fields(self, record: logging.LogRecord) -> dict[str, Any]:
        known: Mapping[str, Any] = getattr(record, "locqueue", {})
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        fields = {"ts": f"{at}.{record.msecs:03.0f}Z", "level": record.levelname.lower(), **known}
        if "event" not in known:
            fields |= {"logger": record.name, "message": record.getMessage()}
        if record.exc_info and record.exc_info[0] is not None:
            fields["traceback"] = masking.mask_text(self.formatException(record.exc_info))
        return {name: legible.block(value) if isinstance(value, str) else value for name, value in fields.items()}


class JsonLine(_FieldsLine):
    def format(self, record: logging.LogRecord) -> str:
        return json.dumps(self.fields(record), ensure_ascii=False, default=str)


class LogfmtLine(_FieldsLine):
    def format(self, record: logging.LogRecord) -> str:
        return " ".join(f"{name}={_bare(value)}" for name, value in self.fields(record).items())


def formatter(name: str, verbosity: int = 1, process: str = "") -> logging.Formatter:
    """Return the formatter of one of ``FORMATS``."""
    if name == "text":
        return TextLine(verbosity, process)
    return JsonLine() if name == "json" else LogfmtLine()


def _bare(value: Any) -> str:
    """Return a logfmt value: quoted where a reader could take it for several."""
    text = "" if value is None else legible.line(str(value))
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' ="\\') else text
