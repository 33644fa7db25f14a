"""Bars and lines as SVG: drawn by the server, so they need no script, follow the theme and pass any content security
policy.

Numbers are text here: a template would write 1,200 for a coordinate in some languages.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from django.utils.html import format_html, format_html_join

from django_locqueue.admin.numbers import percent, whole

WIDTH, HEIGHT = 720, 120
FILL = 0.8  # of its slot


@dataclass(frozen=True)
class Column:
    """What one bar stands for. ``before``: the same in the time before, if that is compared.

    ``url``: of the rows behind it; ``errors_url``: of those behind its errors, where these are others.
    """

    label: str
    value: float
    url: str = ""
    errors: float = 0  # of the value, or on top of it where the chart is stacked
    errors_url: str = ""
    before: float | None = None
    is_partial: bool = False  # its time is not over


class Words(NamedTuple):
    """What the colours of bars stand for."""

    value: Any
    errors: Any
    before: Any = ""


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
    """``labels``: of the first bar, the middle one and the last, which is all that a phone has room for.

    ``colour``: of the bars, as locqueue.css names it; the rest of a bar is errors.
    """

    title: Any
    bars: Sequence[Bar]
    most_text: str
    labels: Sequence[str]
    is_compared: bool
    words: Words
    colour: str
    width: str = str(WIDTH)
    height: str = str(HEIGHT)


def bar_chart(
    title: Any, columns: Sequence[Column], words: Words, *, colour: str = "run", is_stacked: bool = False
) -> Chart:
    """Return the bars of ``columns`` from left to right, the highest as high as the chart.

    ``is_stacked``: a column's errors stand beside its value, and not within it.
    """
    heights = [column.value + (column.errors if is_stacked else 0) for column in columns]
    most = max([*heights, *(column.before or 0 for column in columns)], default=0)
    slot = WIDTH / max(1, len(columns))
    return Chart(
        title=title,
        bars=[_bar(columns[number], number * slot, slot, heights[number], most) for number in range(len(columns))],
        most_text=whole(most),
        labels=_labels([column.label for column in columns]),
        is_compared=any(column.before is not None for column in columns),
        words=words,
        colour=colour,
    )


def _bar(column: Column, left: float, slot: float, value: float, most: float) -> Bar:
    height = _height(value, most)
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


def _labels(labels: Sequence[str]) -> list[str]:
    return [labels[n] for n in (0, len(labels) // 2, -1)] if len(labels) > 2 else []


def _text(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Slot:
    """One time of a line chart: a value for each line, None where there is none."""

    label: str
    texts: Sequence[str]
    left: str
    width: str
    is_partial: bool


@dataclass(frozen=True)
class Line:
    """``parts``: points for each stretch without a gap."""

    name: Any
    text: str  # of the whole
    parts: Sequence[str]


@dataclass(frozen=True)
class LineChart:
    title: Any
    lines: Sequence[Line]
    slots: Sequence[Slot]
    most_text: str
    labels: Sequence[str]
    width: str = str(WIDTH)
    height: str = str(HEIGHT)


class Moment(NamedTuple):
    """What a line chart shows of one time. ``values``: one for each line."""

    label: str
    values: Sequence[float | None]
    is_partial: bool = False


def line_chart(
    title: Any, names: Sequence[tuple[Any, float | None]], moments: Sequence[Moment], text_of: Callable[[float], str]
) -> LineChart:
    """Return a line for each of ``names``, which come with the value of the whole. ``text_of``: a value in words."""
    most = max((value for moment in moments for value in moment.values if value is not None), default=0.0)
    step = WIDTH / max(1, len(moments))
    lines = [
        Line(name, _said(of_all, text_of), list(_parts([moment.values[number] for moment in moments], step, most)))
        for number, (name, of_all) in enumerate(names)
    ]
    slots = [
        Slot(
            moment.label,
            [_said(value, text_of) for value in moment.values],
            _text(number * step),
            _text(step),
            moment.is_partial,
        )
        for number, moment in enumerate(moments)
    ]
    return LineChart(title, lines, slots, _said(most, text_of), _labels([moment.label for moment in moments]))


def _parts(values: Sequence[float | None], step: float, most: float) -> Iterator[str]:
    for is_there, found in groupby(enumerate(values), key=lambda pair: pair[1] is not None):
        if not is_there:
            continue
        points = [
            ((number + 0.5) * step, HEIGHT - 0.95 * HEIGHT * (value or 0) / (most or 1)) for number, value in found
        ]
        if len(points) == 1:  # a line of one point would not be seen
            [(x, y)] = points
            points = [(x - step / 3, y), (x + step / 3, y)]
        yield " ".join(f"{_text(x)},{_text(y)}" for x, y in points)


def _said(value: float | None, text_of: Callable[[float], str]) -> str:
    return "–" if value is None else text_of(value)


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


SPARK_WIDTH, SPARK_HEIGHT = 90, 20


def sparkline(title: Any, values: Sequence[int]) -> Any:
    """Return small bars for the cell of a table, without axes."""
    most, step = max(values, default=0), SPARK_WIDTH / max(1, len(values))
    bars = [(number, SPARK_HEIGHT * value / most) for number, value in enumerate(values) if value]
    return format_html(
        '<svg class="lq-spark" width="{}" height="{}" role="img" aria-label="{}"><title>{}</title>{}</svg>',
        *(SPARK_WIDTH, SPARK_HEIGHT, title, title),
        format_html_join(
            "",
            '<rect x="{}" y="{}" width="{}" height="{}"/>',
            (
                (_text(number * step), _text(SPARK_HEIGHT - height), _text(step * FILL), _text(height))
                for number, height in bars
            ),
        ),
    )
