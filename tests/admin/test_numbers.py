"""Numbers as cards and bars show them."""

import pytest
from django.utils import translation

from django_locqueue.admin import numbers


@pytest.mark.parametrize(
    ("count", "english", "chinese"),
    [
        (0, "0", "0"),
        (9_210, "9,210", "9210"),
        (10_000, "10K", "1万"),
        (182_340, "182K", "18.2万"),
        (12_345, "12.3K", "1.2万"),
        (1_234_567, "1.2M", "123万"),
        (123_456_789, "123M", "1.2亿"),
        (5_000_000_000, "5B", "50亿"),
    ],
)
def test_a_number_is_short_in_the_units_of_its_language(count: int, english: str, chinese: str) -> None:
    for language, text in (("en", english), ("zh-hans", chinese)):
        with translation.override(language):
            assert numbers.short(count) == text


@pytest.mark.parametrize(
    ("part", "of", "text"),
    [(0, 0, "0 %"), (0, 7, "0 %"), (7, 7, "100 %"), (2, 3, "66.7 %"), (1, 10_000, "< 0.1 %"), (9_999, 10_000, "100 %")],
)
def test_a_share_is_said_to_a_tenth_of_a_percent(part: int, of: int, text: str) -> None:
    assert numbers.percent(part, of) == text


@pytest.mark.parametrize(
    ("growth", "text"), [(None, ""), (0.04, "+4 %"), (-0.5, "−50 %"), (0.001, "±0 %"), (11, "+1,100 %")]
)
def test_a_change_has_its_sign(growth: float | None, text: str) -> None:
    assert numbers.change(growth) == text
