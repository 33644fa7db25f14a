"""The log of a task: the last lines that its runs wrote, as they are kept and as they are stored."""

import itertools
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django_locqueue.policies import payload
from django_locqueue.policies.outcome import class_path, first_line, shortened

MESSAGE_LENGTH = 500
NAME_LENGTH = 100
LENGTH = 60_000  # characters of JSON: a page shows that whole, and a worker writes it once a second


class Line(NamedTuple):
    """What a run wrote. ``attempt``: its number. ``created``: seconds since 1970."""

    attempt: int
    created: float
    level: str
    logger: str
    message: str

    @classmethod
    def of(cls, record: logging.LogRecord, attempt: int) -> "Line":
        try:
            message = record.getMessage()
        except (TypeError, ValueError, LookupError):  # the arguments do not fit the message
            message = str(record.msg)
        if record.exc_info and (error := record.exc_info[1]) is not None:
            message = f"{message} ({class_path(type(error))}: {first_line(error)})"
        return cls(
            attempt,
            record.created,
            shortened(record.levelname, NAME_LENGTH),
            shortened(record.name, NAME_LENGTH),
            shortened(message, MESSAGE_LENGTH),
        )


def joined(earlier: Any, claim_no: int, lines: Sequence[Line], most: int) -> str:
    """Return as JSON text what other claims of the task wrote, and these ``lines``: the last ``most`` of them.

    Fewer if those are longer than ``LENGTH``. ``earlier``: the stored log. What this claim has in it already is
    replaced.
    """
    before = earlier if isinstance(earlier, list) else []
    others = [each for each in before if isinstance(each, dict) and each.get("claim") != claim_no]
    texts = [payload.dump(each) for each in [*others, *(_stored(each, claim_no) for each in lines)][-most:]]
    lengths = itertools.accumulate(len(text) + 1 for text in reversed(texts))
    kept = sum(length < LENGTH for length in lengths)  # with a bracket more
    return f"[{','.join(texts[len(texts) - kept :])}]"


def _stored(line: Line, claim_no: int) -> dict[str, Any]:
    attempt, created, level, logger, message = line
    time = datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")
    stored = {"attempt": attempt, "time": time, "level": level, "logger": logger, "message": message}
    return {"claim": claim_no, **stored}
