"""What a running task says of itself: how far it is, the metadata that its next try shall find, and its log."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django_locqueue.policies import payload
from django_locqueue.policies.numbers import is_number
from django_locqueue.policies.outcome import MESSAGE_LENGTH, shortened
from django_locqueue.policies.task_log import Line


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
