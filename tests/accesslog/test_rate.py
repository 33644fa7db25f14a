"""Calls that are to be some seconds apart, as a rate of the queue."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog.geo.rate import SHORTEST_GAP_SECONDS, TRAVEL_SECONDS, rate_of
from django_locqueue.policies.ratelimit import Rate


@given(st.floats(SHORTEST_GAP_SECONDS, 86_400))
def test_two_calls_are_never_closer_than_the_gap_however_late_the_first_starts_and_arrives(gap):
    rate = Rate.parse(rate_of(gap))
    assert rate.burst == 1
    assert rate.interval.total_seconds() - rate.lag - TRAVEL_SECONDS >= gap - 1e-6


@given(st.floats(0, SHORTEST_GAP_SECONDS))
def test_of_calls_that_may_follow_each_other_at_once_no_more_are_made_in_a_second(gap):
    rate = Rate.parse(rate_of(gap))
    assert rate.limit / rate.seconds * gap <= 1


@pytest.mark.parametrize(
    ("gap", "rate"),
    [(0, "1000/1s"), (0.01, "100/1s"), (0.1, "5/1s"), (1, "46/60s"), (4, "14/60s"), (86_400, "1/86401s")],
)
def test_as_many_calls_are_made_as_that_allows(gap, rate):
    assert rate_of(gap) == rate
