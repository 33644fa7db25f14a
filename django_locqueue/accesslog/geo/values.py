"""Takes what it expects out of what a provider says, and leaves the rest. Nothing that comes from there is trusted."""

import math
import re
from collections.abc import Mapping
from typing import Any

MOST = 64  # characters of a name; the width of its column
# Ways of saying nothing: each was seen in the answer of a real provider.
NOTHING = frozenset({"", "0", "-", "xx", "none", "null", "unknown", "n/a", "[]", "局域网", "内网ip", "reserved"})

_code = re.compile("[A-Z]{2}")
_adcode = re.compile("[0-9]{6}")


def dig(value: Any, path: str) -> Any:
    """Return what is at a path like ``content.address_detail.city`` or ``subdivisions.0.names``; None if nothing is."""
    for step in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def printable(value: Any, most: int) -> str:
    """Return a text, a number or a truth value as text that every log and every database takes; nothing for others."""
    if not isinstance(value, str | int):
        return ""
    return "".join(char for char in str(value)[: 4 * most] if char.isprintable()).strip()[:most]


def text(value: Any, most: int = MOST) -> str:
    """Return a name or a number as text; nothing if it says nothing, or is none."""
    words = "" if isinstance(value, bool) else printable(value, most)
    return "" if words.casefold() in NOTHING else words


def country_code(value: Any) -> str:
    """Return two capital letters, or nothing."""
    code = text(value).upper()
    return code if _code.fullmatch(code) else ""


def adcode(value: Any) -> str:
    """Return a number of GB/T 2260, or nothing."""
    code = text(value)
    return code if _adcode.fullmatch(code) else ""


def degrees(value: Any, most: float) -> float | None:
    """Return a latitude (``most``: 90) or longitude (180), from a number or a text; None if it is none."""
    try:
        number = float(value) if isinstance(value, float | int | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if -most <= number <= most else None
