"""Bars and lines: what their coordinates say."""

from collections.abc import Sequence

from django_locqueue.admin.charts import (
    HEIGHT,
    WIDTH,
    Bar,
    Column,
    Moment,
    Rank,
    Words,
    bar_chart,
    line_chart,
)


def bars_of(columns: list[Column], *, is_stacked: bool = False) -> Sequence[Bar]:
    return bar_chart("", columns, Words("requests", "errors"), is_stacked=is_stacked).bars


def test_the_highest_bar_is_as_high_as_the_chart() -> None:
    low, high = bars_of([Column("a", 50), Column("b", 200)])
    assert (float(high.top), float(high.height)) == (0, HEIGHT)
    assert (float(low.top), float(low.height)) == (HEIGHT * 0.75, HEIGHT * 0.25)


def test_bars_stand_side_by_side_and_fill_the_chart() -> None:
    bars = bars_of([Column(str(n), n) for n in range(168)])
    ends = [float(bar.slot_left) + float(bar.slot_width) for bar in bars]
    assert all(abs(end - float(bar.slot_left)) < 0.02 for end, bar in zip(ends, bars[1:], strict=False))
    assert abs(ends[-1] - WIDTH) < 0.02


def test_the_time_before_is_drawn_on_the_same_scale() -> None:
    [bar] = bars_of([Column("a", 50, before=100)])
    assert (bar.height, bar.before_height) == (str(HEIGHT // 2), str(HEIGHT))


def test_what_is_there_is_seen() -> None:
    rare, _ = bars_of([Column("a", 1, errors=1), Column("b", 1_000_000)])
    assert float(rare.height) >= 1
    assert float(rare.errors_height) == float(rare.height)


def test_what_is_not_there_is_not_drawn() -> None:
    assert [bar.height for bar in bars_of([Column("a", 0), Column("b", 0)])] == ["0", "0"]
    assert bars_of([]) == []


def test_a_coordinate_has_no_thousands_separator(settings) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    assert "," not in bars_of([Column("a", 12_345)])[0].height
    assert Rank("a", 1_234, 12_340).width == "10.0"


def test_a_share_of_nothing_has_no_bar() -> None:
    assert Rank("a", 0, 0).width == "0"


def test_stacked_bars_are_as_high_as_both_parts() -> None:
    [bar] = bars_of([Column("a", 75, errors=25)], is_stacked=True)
    assert (bar.height, bar.errors_height) == (str(HEIGHT), str(HEIGHT // 4))


def test_a_line_has_a_gap_where_nothing_is_known() -> None:
    moments = [Moment(str(n), [value]) for n, value in enumerate([1.0, 2.0, None, 4.0])]
    chart = line_chart("", [("p95", 2.0)], moments, str)
    [line] = chart.lines
    assert [len(part.split()) for part in line.parts] == [2, 2]
    assert [slot.texts for slot in chart.slots] == [["1.0"], ["2.0"], ["–"], ["4.0"]]
    assert (line.text, chart.most_text) == ("2.0", "4.0")


def test_a_line_of_nothing_breaks_nothing() -> None:
    assert line_chart("", [("p95", None)], [Moment("a", [None])], str).lines[0].parts == []
