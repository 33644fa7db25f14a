"""How a try at a task ended: a value that the executor decides and the store records."""

import traceback as traceback_module
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from django_locqueue.policies.fingerprint import ErrorKind, Place, kind_of

if TYPE_CHECKING:
    from django_locqueue.policies.report import Report

CLASS_LENGTH = 255
MESSAGE_LENGTH = 200
TRACEBACK_LENGTH = 50_000  # characters; the head names the call, the tail the error, so both ends are kept


class Kind(StrEnum):
    SUCCESSFUL = "successful"
    FAILED = "failed"
    RETRIED = "retried"
    SNOOZED = "snoozed"
    CANCELLED = "cancelled"
    RELEASED = "released"

    __hash__ = str.__hash__  # Enum's own is Python code, and a kind is looked up several times for each task


FAILURES = (Kind.FAILED, Kind.RETRIED)  # what is counted as an error


@dataclass(frozen=True, slots=True)
class ErrorReport:
    """An exception as text that fits its columns. Making one never fails."""

    class_path: str
    message: str  # the first line
    traceback: str
    place: Place | None = None  # where the project's own code was

    @property
    def kind(self) -> ErrorKind:
        return kind_of(self.class_path, self.message, self.place)

    @classmethod
    def of(cls, error: BaseException) -> "ErrorReport":
        kind = type(error)
        return cls(
            class_path=shortened(class_path(kind), CLASS_LENGTH),
            message=first_line(error),
            traceback=_format(error),
            place=_place(error),
        )


class Outcome(NamedTuple):
    """``return_value``: JSON text. ``delay``: seconds until the next try (retried, snoozed, released).

    ``keep_row``: whether the row stays if the task ends with this; one that is put back ends if somebody cancelled
    it meanwhile. ``by_request``: it is cancelled because somebody asked for it, and the row knows the reason.
    ``report``: the last that the task has said of itself. ``columns``: what else is to stand in a row that is released.
    """

    kind: Kind
    return_value: str | None = None
    error: ErrorReport | None = None
    delay: float = 0.0
    keep_row: bool = True
    by_request: bool = False
    exception: BaseException | None = None  # for receivers of task_finished, who read sys.exc_info()
    report: "Report | None" = None
    columns: Mapping[str, Any] | None = None


def class_path(kind: type) -> str:
    """Return the dotted path under which an exception's class is stored."""
    return f"{kind.__module__}.{kind.__qualname__}"


def first_line(error: BaseException) -> str:
    """Return the first line of the error's text, or a note if its text cannot be had."""
    try:
        text = str(error)
    except BaseException:  # a text that exits must not end the worker
        return "(the exception's text could not be read)"
    lines = text.splitlines()
    return shortened(lines[0] if lines else "", MESSAGE_LENGTH)


def shortened(text: str, length: int) -> str:
    """Return ``text`` in at most ``length`` characters, storable everywhere, with a mark where it was cut."""
    # PostgreSQL refuses NUL and lone surrogates in text.
    text = text[: length + 1].replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= length else text[: length - 1] + "…"


def _place(error: BaseException) -> Place | None:
    try:
        return Place.of(error.__traceback__)
    except Exception:  # a path that leads nowhere, or is none
        return None


def _format(error: BaseException) -> str:
    try:
        text = "".join(traceback_module.format_exception(error))
    except BaseException as second:
        text = f"{type(error).__qualname__}: (the traceback could not be formatted: {type(second).__name__})\n"
    half = TRACEBACK_LENGTH // 2
    if len(text) > TRACEBACK_LENGTH:
        text = f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
    return shortened(text, len(text) * 10)
