"""How long things took, in words."""

from datetime import timedelta

import pytest
from django.utils import translation

from django_locqueue import clock
from django_locqueue.admin.moments import span

pytestmark = pytest.mark.any_vendor


@pytest.mark.parametrize(
    ("seconds", "english", "chinese"),
    [
        (-1, "0 s", "0 秒"),
        (0.0341, "0.034 s", "0.034 秒"),
        (0.0996, "0.10 s", "0.10 秒"),
        (0.348, "0.35 s", "0.35 秒"),
        (0.996, "1.0 s", "1.0 秒"),
        (1.26, "1.3 s", "1.3 秒"),
        (9.96, "10 s", "10 秒"),
        (59.9, "59 s", "59 秒"),
        (125, "2\xa0minutes", "2\xa0分钟"),
    ],
)
def test_a_span_has_two_digits(seconds, english, chinese):
    for language, words in (("en", english), ("zh-hans", chinese)):
        with translation.override(language):
            assert span(timedelta(seconds=seconds)) == words


def test_the_longest_span_that_rows_may_hold_has_words():
    assert span(clock.LATEST - clock.EARLIEST) == "9998\xa0years"
