"""Tables for a terminal."""

import unicodedata
from collections.abc import Iterable, Sequence

from django_locqueue.policies import legible


def width(text: str) -> int:
    """Return how many columns a terminal needs: Chinese takes two for each character."""
    return sum(
        2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text if not unicodedata.combining(each)
    )


def lines(headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> list[str]:
    """Return the lines of a table. ``right``: the headings of columns of numbers."""
    cells = [list(headings), *([legible.line(cell) for cell in row] for row in rows)]
    widths = [max(width(row[column]) for row in cells) for column in range(len(headings))]
    return [
        "  ".join(
            _filled(cell, size, to_the_right=heading in right)
            for cell, size, heading in zip(row, widths, headings, strict=True)
        ).rstrip()
        for row in cells
    ]


def _filled(cell: str, size: int, *, to_the_right: bool) -> str:
    space = " " * (size - width(cell))
    return space + cell if to_the_right else cell + space
