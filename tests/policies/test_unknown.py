"""How long a task waits whose definition no worker knows."""

from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.policies import expiry

LIMITS = st.floats(0, 1e6)


@given(st.floats(0, 1e7), LIMITS)
def test_it_waits_a_sane_time_or_is_over(met_for: float, limit: float):
    wait = expiry.wait_for_definition(met_for, limit)
    if wait is None:
        assert met_for >= limit
    else:
        assert 0 < wait <= expiry.LONGEST_SECONDS
        assert met_for + wait <= limit * (1 + 1e-12)


@given(LIMITS)
def test_the_looks_are_few(limit: float):
    waited, looks = 0.0, 0
    while (wait := expiry.wait_for_definition(waited, limit)) is not None:
        waited += wait
        looks += 1
    assert looks <= 10 + limit / expiry.LONGEST_SECONDS + 2
