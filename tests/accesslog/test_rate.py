"""Calls that are to be some seconds apart, as a rate of the queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog.geo.rate import rate_of
from django_locqueue.policies.ratelimit import Rate


@given(st.floats(0.001, 86_400))
def test_two_starts_are_never_closer_than_the_gap(gap):
    rate = Rate.parse(rate_of(gap))
    assert rate.burst == 1
    assert rate.interval.total_seconds() - rate.lag >= gap - 1e-6


@pytest.mark.parametrize(("gap", "rate"), [(0.1, "7/1s"), (1, "1/1s"), (4, "1/4s"), (60 / 45, "38/60s"), (0, "21/1s")])
def test_as_many_calls_are_made_as_that_allows(gap, rate):
    assert rate_of(gap) == rate
