"""What a running task says of itself: how far it is, the metadata that its next try shall find, and its log."""

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django_locqueue.policies import payload
from django_locqueue.policies.numbers import is_number
from django_locqueue.policies.outcome import MESSAGE_LENGTH, class_path, first_line, shortened

LINE_LENGTH = 500  # of what a run logged
NAME_LENGTH = 100  # of a logger or a level


class Line(NamedTuple):
    """What a run logged. ``attempt``: its number. ``created``: seconds since 1970."""

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
            shortened(message, LINE_LENGTH),
        )


class Report(NamedTuple):
    """The latest that a task has said; None: nothing of this yet. ``metadata``: JSON text. ``log``: of this run."""

    fraction: float | None = None
    message: str | None = None
    metadata: str | None = None
    log: tuple[Line, ...] | None = None


NOTHING = Report()


def with_progress(report: Report | None, fraction: float | None, message: str = "") -> Report:
    """Return the report with new progress; without a fraction the one before stays.

    Raises ValueError for what is no fraction from 0 to 1.
    """
    if fraction is not None and not is_number(fraction, 0, 1):
        raise ValueError(
            f"context.progress() takes a fraction from 0 to 1, got {fraction!r}. Divide what is done by the whole: "
            f"context.progress(done / total)."
        )
    report = report or NOTHING
    fraction = report.fraction if fraction is None else float(fraction)
    return report._replace(fraction=fraction, message=shortened(str(message), MESSAGE_LENGTH))


def with_metadata(report: Report | None, metadata: Mapping[str, Any]) -> Report:
    """Return the report with this metadata, as it is now. Raises TypeError or ValueError for what JSON cannot hold."""
    payload.dump_call([], {"metadata": dict(metadata)})  # for its check, which names what it refuses
    return (report or NOTHING)._replace(metadata=payload.dump(dict(metadata)))


def joined_log(earlier: Any, claim_no: int, lines: Sequence[Line], most: int) -> str:
    """Return as JSON text what other claims of the task wrote, and these ``lines``: the last ``most`` of them.

    ``earlier``: the stored log. What this claim has in it already is replaced.
    """
    before = earlier if isinstance(earlier, list) else []
    others = [each for each in before if isinstance(each, dict) and each.get("claim") != claim_no]
    return payload.dump([*others, *(_stored(each, claim_no) for each in lines)][-most:])


def _stored(line: Line, claim_no: int) -> dict[str, Any]:
    attempt, created, level, logger, message = line
    time = datetime.fromtimestamp(created, UTC).isoformat(timespec="milliseconds")
    stored = {"attempt": attempt, "time": time, "level": level, "logger": logger, "message": message}
    return {"claim": claim_no, **stored}
