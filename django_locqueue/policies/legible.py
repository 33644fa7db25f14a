"""Text as a person can trust it: characters that cannot be seen, or that reorder others, are spelled out.

A right-to-left override makes one file name look like another; a line break or an escape sequence fakes a second
line. PostgreSQL and browsers also choke on NUL and lone surrogates.
"""

import re

_INVISIBLE = (
    r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters; tab and line breaks are treated below
    r"\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e0fff"
)
_IN_A_LINE = re.compile(f"[{_INVISIBLE}\t\n\r]")
_IN_A_BLOCK = re.compile(f"[{_INVISIBLE}]|\r(?!\n)")


def line(text: str) -> str:
    """Return ``text`` for one line: also tabs and line breaks are spelled out."""
    return _IN_A_LINE.sub(_spell, text)


def block(text: str) -> str:
    """Return ``text`` for a preformatted block, its line breaks and tabs kept."""
    return _IN_A_BLOCK.sub(_spell, text)


def _spell(match: re.Match[str]) -> str:
    code = ord(match[0])
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
