"""Columns of text on a terminal, where a Chinese character takes two places."""

import unicodedata
from collections.abc import Sequence


def width(text: str) -> int:
    """Return how many places a text takes in a terminal."""
    return sum(_places(character) for character in text)


def _places(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def padded(text: str, places: int, *, right: bool = False) -> str:
    fill = " " * (places - width(text))
    return fill + text if right else text + fill


def shortened(text: str, places: int, mark: str) -> str:
    """Return ``text`` in at most so many places; ``mark`` stands for what is left out."""
    if width(text) <= places:
        return text
    kept = ""
    for character in text:
        if width(kept + character + mark) > places:
            break
        kept += character
    return kept + mark


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[str] = ()) -> list[str]:
    """Return lines with the columns below their heads. ``right``: the heads of the columns that are numbers."""
    widths = [max(width(row[column]) for row in [heads, *rows]) for column in range(len(heads))]
    return [
        "  ".join(
            padded(text, places, right=head in right) for head, text, places in zip(heads, row, widths, strict=True)
        ).rstrip()
        for row in [heads, *rows]
    ]
