"""The beginning of a JSON text, read as far as it goes.

Pages never load a whole payload, they ask the database for its first characters. What is cut in the middle is no
JSON any more, and masking needs the keys: so the cut end is closed, and what cannot be closed is left out.
"""

import json
from typing import Any

ELLIPSIS = "…"


class Unreadable(ValueError):
    """The text is not the beginning of any JSON value."""


def read(text: str, *, cut: bool) -> Any:
    """Return the JSON value of ``text``; of a ``cut`` text as much as is there. Raises :class:`Unreadable`."""
    try:
        return json.loads(_closed(text) if cut else text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def _closed(text: str) -> str:
    """Return ``text`` with every open string, list and object ended."""
    closers: list[str] = []
    kept, kept_closers = 0, ""  # as far as the text is whole, and what ends it there
    in_string = is_key = False
    position = 0
    while position < len(text):
        char = text[position]
        if in_string:
            if char == "\\":
                position += 1
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
            is_key = bool(closers) and closers[-1] == "}" and _before(text, position) in "{,"
        elif char in "{[":
            closers.append("}" if char == "{" else "]")
            kept, kept_closers = position + 1, "".join(reversed(closers))
        elif char in "}]":
            if not closers or closers.pop() != char:
                raise Unreadable(f"unexpected {char} at {position}")
            kept, kept_closers = position + 1, "".join(reversed(closers))
        elif char == ",":
            kept, kept_closers = position, "".join(reversed(closers))
        position += 1
    if in_string and not is_key:
        return _without_cut_escape(text) + ELLIPSIS + '"' + "".join(reversed(closers))
    return text[:kept] + kept_closers


def _before(text: str, position: int) -> str:
    return text[:position].rstrip()[-1:]


def _without_cut_escape(text: str) -> str:
    """Return ``text`` without a ``\\uXX`` or a lone backslash at its end."""
    start = text.rfind("\\", max(0, len(text) - 6))
    if start == -1:
        return text
    slashes = len(text[: start + 1]) - len(text[: start + 1].rstrip("\\"))
    if slashes % 2 == 0:
        return text
    length = 6 if text[start + 1 : start + 2] == "u" else 2
    return text if len(text) - start >= length else text[:start]
