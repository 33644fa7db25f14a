"""Bars: what their coordinates say."""

from django_locqueue.accesslog.admin.charts import HEIGHT, WIDTH, Column, Rank, bar_chart


def test_the_highest_bar_is_as_high_as_the_chart() -> None:
    low, high = bar_chart("", [Column("a", 50), Column("b", 200)]).bars
    assert (float(high.top), float(high.height)) == (0, HEIGHT)
    assert (float(low.top), float(low.height)) == (HEIGHT * 0.75, HEIGHT * 0.25)


def test_bars_stand_side_by_side_and_fill_the_chart() -> None:
    bars = bar_chart("", [Column(str(n), n) for n in range(168)]).bars
    ends = [float(bar.slot_left) + float(bar.slot_width) for bar in bars]
    assert all(abs(end - float(bar.slot_left)) < 0.02 for end, bar in zip(ends, bars[1:], strict=False))
    assert abs(ends[-1] - WIDTH) < 0.02


def test_the_time_before_is_drawn_on_the_same_scale() -> None:
    [bar] = bar_chart("", [Column("a", 50, before=100)]).bars
    assert (bar.height, bar.before_height) == (str(HEIGHT // 2), str(HEIGHT))


def test_what_is_there_is_seen() -> None:
    rare, _ = bar_chart("", [Column("a", 1, errors=1), Column("b", 1_000_000)]).bars
    assert float(rare.height) >= 1
    assert float(rare.errors_height) == float(rare.height)


def test_what_is_not_there_is_not_drawn() -> None:
    assert [bar.height for bar in bar_chart("", [Column("a", 0), Column("b", 0)]).bars] == ["0", "0"]
    assert bar_chart("", []).bars == []


def test_a_coordinate_has_no_thousands_separator(settings) -> None:
    settings.USE_THOUSAND_SEPARATOR = True
    assert "," not in bar_chart("", [Column("a", 12_345)]).bars[0].height
    assert Rank("a", 1_234, 12_340).width == "10.0"


def test_a_share_of_nothing_has_no_bar() -> None:
    assert Rank("a", 0, 0).width == "0"
