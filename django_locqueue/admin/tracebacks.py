"""Tracebacks as HTML, with the frames of other people's code marked, so that they can be hidden without a script."""

import re
from typing import Any

from django.utils.html import format_html, format_html_join

_FRAME = re.compile(r'^  File "([^"\n]*)", line ', re.MULTILINE)
# Installed packages, Python's own library, what is frozen into it, and us. By their names: a worker's folders may be
# others than those of the web server.
_OTHERS = re.compile(
    r"[\\/](?:(?:site|dist)-packages|lib[\\/]python3[.\d]*|django_locqueue)[\\/]|^<frozen ", re.IGNORECASE
)
_END_OF_FRAMES = re.compile(r"\n(?=\S|\n)")  # the exception itself, or another's traceback


def draw_traceback(text: str) -> tuple[Any, bool]:
    """Return a legible traceback as HTML, and whether frames of both other people's code and one's own are in it."""
    pieces: list[tuple[str, str]] = []
    starts = [match.start() for match in _FRAME.finditer(text)]
    begin = 0
    for start, following in zip(starts, [*starts, len(text)][1:], strict=True):
        pieces.append(("", text[begin:start]))
        end = _END_OF_FRAMES.search(text, start, following)
        begin = end.end() if end else following
        path = _FRAME.match(text, start)
        is_others = path is not None and _OTHERS.search(path[1]) is not None
        pieces.append(("lq-others" if is_others else "lq-own", text[start:begin]))
    pieces.append(("", text[begin:]))
    kinds = {kind for kind, _ in pieces}
    if not {"lq-others", "lq-own"} <= kinds:
        return text, False
    drawn = format_html_join(
        "", "{}", ((format_html('<span class="{}">{}</span>', kind, part) if kind else part,) for kind, part in pieces)
    )
    return drawn, True
