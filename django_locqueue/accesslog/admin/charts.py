"""Bars as SVG: drawn by the server, so they need no script, follow the theme and pass any content security policy.

Numbers are text here: a template would write 1,200 for a coordinate in some languages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django_locqueue.accesslog.admin.numbers import percent, whole

WIDTH, HEIGHT = 720, 120
FILL = 0.8  # of its slot


@dataclass(frozen=True)
class Column:
    """What one bar stands for. ``before``: the same in the time before, if that is compared."""

    label: str
    value: float
    url: str = ""
    errors: float = 0
    before: float | None = None
    is_partial: bool = False  # its time is not over


@dataclass(frozen=True)
class Bar:
    column: Column
    left: str
    width: str
    top: str
    height: str
    errors_top: str
    errors_height: str
    slot_left: str
    slot_width: str
    before_top: str
    before_height: str

    @property
    def value_text(self) -> str:
        return whole(self.column.value)

    @property
    def errors_text(self) -> str:
        return whole(self.column.errors)

    @property
    def before_text(self) -> str:
        return "" if self.column.before is None else whole(self.column.before)


@dataclass(frozen=True)
class Chart:
    """``labels``: of the first bar, the middle one and the last, which is all that a phone has room for."""

    title: Any
    bars: Sequence[Bar]
    most_text: str
    labels: Sequence[str]
    is_compared: bool
    width: str = str(WIDTH)
    height: str = str(HEIGHT)


def bar_chart(title: Any, columns: Sequence[Column]) -> Chart:
    """Return the bars of ``columns`` from left to right, the highest as high as the chart."""
    most = max((max(column.value, column.before or 0) for column in columns), default=0)
    slot = WIDTH / max(1, len(columns))
    return Chart(
        title=title,
        bars=[_bar(column, number * slot, slot, most) for number, column in enumerate(columns)],
        most_text=whole(most),
        labels=[columns[n].label for n in (0, len(columns) // 2, -1)] if len(columns) > 2 else [],
        is_compared=any(column.before is not None for column in columns),
    )


def _bar(column: Column, left: float, slot: float, most: float) -> Bar:
    height = _height(column.value, most)
    errors = min(_height(column.errors, most), height)
    before = _height(column.before or 0, most)
    return Bar(
        column=column,
        left=_text(left + slot * (1 - FILL) / 2),
        width=_text(slot * FILL),
        top=_text(HEIGHT - height),
        height=_text(height),
        errors_top=_text(HEIGHT - errors),
        errors_height=_text(errors),
        slot_left=_text(left),
        slot_width=_text(slot),
        before_top=_text(HEIGHT - before),
        before_height=_text(before),
    )


def _height(value: float, most: float) -> float:
    # What is there is seen, if only just.
    return max(1.5, HEIGHT * value / most) if value > 0 and most > 0 else 0.0


def _text(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Rank:
    """One line of a ranking: what it is, how much of the whole, and where to look at it."""

    label: str
    value: float
    of: float
    url: str = ""
    note: str = ""  # below the label
    cells: Sequence[str] = ()  # further columns
    colour: str = ""
    into: str = ""  # the address of a page that looks into it
    is_chosen: bool = False

    @property
    def value_text(self) -> str:
        return whole(self.value)

    @property
    def share_text(self) -> str:
        return percent(self.value, self.of)

    @property
    def width(self) -> str:
        """Of its bar, in percent."""
        return f"{100 * min(self.value / self.of, 1):.1f}" if self.of else "0"


@dataclass(frozen=True)
class Ranking:
    """``more``: the headings of further columns."""

    title: Any
    heading: Any
    ranks: Sequence[Rank]
    more: Sequence[Any] = ()
    note: Any = ""
