"""Which failures are of one kind: the same error, in the same words but for numbers and names, from the same line.

Pure but for what Python knows of its paths. Line numbers do not count, since each deploy moves lines: what the line
says does.
"""

import linecache
import re
import sys
import sysconfig
from functools import lru_cache
from hashlib import sha1
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from django_locqueue.policies.masking import mask_text

MESSAGE_LENGTH = 200
PLACE_LENGTH = 255

_VARYING = re.compile(
    r"""(?P<str>(?<!\w)'[^']*(?:'(?!\w)|…$)|"[^"]*(?:"|…$)|`[^`]*`|“[^”]*”|‘[^’]*’|«[^»]*»|「[^」]*」)"""
    r"|(?P<uuid>(?<![0-9a-f])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-f]))"
    r"|(?P<hex>\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b)"
    r"|(?P<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<n>\d+(?:[.,]\d+)*)",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """The line of the project's code in which an error came up, or whose call led to it."""

    file: str  # from the folder that it is imported from: shop/mail.py
    line: int
    function: str
    text: str  # of the line; empty if it cannot be had

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}"

    @classmethod
    def of(cls, trace: TracebackType | None) -> Self | None:
        """Return the deepest line of the project in a traceback; None if there is none."""
        deepest = None
        while trace is not None:
            if (file := _file_in_project(trace.tb_frame.f_code.co_filename)) is not None:
                deepest = file, trace
            trace = trace.tb_next
        if deepest is None:
            return None
        file, trace = deepest
        code = trace.tb_frame.f_code
        return cls(file, trace.tb_lineno, code.co_name, linecache.getline(code.co_filename, trace.tb_lineno).strip())


class ErrorKind(NamedTuple):
    """What the failures of a group share. ``message``: masked, and with placeholders for what varies."""

    fingerprint: str
    error_class: str
    message: str


@lru_cache(maxsize=1024)
def kind_of(error_class: str, message: str, place: Place | None) -> ErrorKind:
    """Return the kind of a failure. ``message``: the first line of the error's text."""
    message = normalised(message)
    parts = [error_class, message, *(() if place is None else (place.file, place.function, place.text))]
    # Not to keep a secret: to have one short name for all of it.
    digest = sha1("\n".join(parts).encode("utf-8", "backslashreplace"), usedforsecurity=False)
    return ErrorKind(digest.hexdigest(), error_class, message)


def normalised(message: str) -> str:
    """Return a message with what looks secret masked, and ``<n>``, ``<str>``, ... for numbers, names and ids."""
    text = _VARYING.sub(lambda match: f"<{match.lastgroup}>", mask_text(message))
    return text if len(text) <= MESSAGE_LENGTH else text[: MESSAGE_LENGTH - 1] + "…"


_OURS = Path(__file__).absolute().parent.parent
_STANDARD = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
_INSTALLED = {"site-packages", "dist-packages"}


@lru_cache(maxsize=4096)
def _file_in_project(filename: str) -> str | None:
    """Return the name of a file of the project's own code, without the folder that is in ``sys.path``; else None."""
    path = Path(filename).absolute()
    if filename.startswith("<") or _INSTALLED & set(path.parts) or any(map(path.is_relative_to, [_OURS, *_STANDARD])):
        return None
    folders = [Path(each).absolute() for each in sys.path if isinstance(each, str)]
    around = [folder for folder in folders if path.is_relative_to(folder)]
    return path.relative_to(max(around, key=lambda each: len(each.parts), default=path.parent)).as_posix()
