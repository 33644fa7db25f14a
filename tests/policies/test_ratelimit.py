"""The token bucket: never more starts than the limit in any period, and nearly as many under load."""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from django_locqueue.policies.ratelimit import Bucket, Rate

NOW = datetime(2026, 3, 4, tzinfo=UTC)
RATES = ["1/s", "10/s", "100/s", "1000/s", "3/2s", "100/m", "7/5m", "5000/h", "2/d"]


@pytest.mark.parametrize(
    ("text", "limit", "seconds"),
    [("10/s", 10, 1), ("100/5m", 100, 300), ("3/min", 3, 60), ("1000/h", 1000, 3600), ("20/d", 20, 86_400)],
)
def test_a_rate_is_starts_per_time(text, limit, seconds):
    assert Rate.parse(text) == Rate(limit, seconds)


@pytest.mark.parametrize("text", RATES)
def test_a_rate_is_written_as_it_is_read(text):
    assert str(Rate.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["10", "10/", "/s", "ten/s", "10/w", "1.5/s", "-1/s", "10 per second", " 10/s", "٣/s", 10, None, b"10/s"]
)
def test_what_is_no_rate_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r'such as "10/s"') as refused:
        Rate.parse(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("text", ["0/s", "1000001/s", "10/0s", "10/367d"])
def test_a_rate_that_makes_no_sense_is_refused(text):
    with pytest.raises(ValueError, match="must"):
        Rate.parse(text)


def most_in_a_period(starts, rate):
    """Return how many starts the fullest period holds, its end not among them."""
    starts = sorted(starts)
    period = timedelta(seconds=rate.seconds)
    return max((bisect_left(starts, first + period) - number for number, first in enumerate(starts)), default=0)


@st.composite
def histories(draw):
    """Rates with claims: after how many intervals, of how many, how late each starts, and whether it comes back."""
    rate = Rate.parse(draw(st.sampled_from(RATES)))
    waits = st.one_of(st.just(0.0), st.floats(0, 3), st.floats(0, 40))
    claims = st.tuples(waits, st.integers(1, 60), st.floats(0, 1), st.booleans())
    return rate, draw(st.lists(claims, max_size=60))


@settings(max_examples=300, deadline=None)
@given(histories())
def test_no_period_holds_more_starts_than_the_limit(history):
    rate, claims = history
    bucket, now, starts = Bucket(), NOW, []
    for wait, wanted, lateness, is_returned in claims:
        now += wait * rate.interval
        taken = min(wanted, bucket.tokens(rate, now))
        bucket = bucket.take(rate, taken, now) if taken else bucket
        starts += [now + timedelta(seconds=rate.lag * lateness)] * taken
        if is_returned and taken:
            starts.pop()
            bucket = bucket.give_back(rate, now, now)
    assert most_in_a_period(starts, rate) <= rate.limit


@settings(max_examples=300, deadline=None)
@given(histories(), st.randoms(use_true_random=False))
def test_nor_if_tokens_come_back_at_any_time_and_in_any_order(history, random):
    rate, claims = history
    bucket, now, starts, out = Bucket(), NOW, [], []
    for wait, wanted, lateness, is_returned in claims:
        now += wait * rate.interval
        if is_returned and out:
            taken_at = out.pop(random.randrange(len(out)))
            bucket = bucket.give_back(rate, taken_at, now)
        taken = min(wanted, bucket.tokens(rate, now))
        bucket = bucket.take(rate, taken, now) if taken else bucket
        if lateness < 0.5:
            out += [now] * taken  # without a call; given back some day or never
        else:
            starts += [now] * taken
    assert most_in_a_period(starts, rate) <= rate.limit


@pytest.mark.parametrize("text", RATES)
def test_under_load_it_comes_close_to_the_limit(text):
    rate = Rate.parse(text)
    bucket, now, started = Bucket(), NOW, 0
    end = NOW + timedelta(seconds=20 * rate.seconds)
    while now < end:
        tokens = bucket.tokens(rate, now)
        bucket = bucket.take(rate, tokens, now)
        started += tokens
        now = max(bucket.next_at(rate, now), now + timedelta(milliseconds=1))
    assert 0.9 * 20 * rate.limit <= started <= 20 * rate.limit + rate.burst


@settings(deadline=None)
@given(histories())
def test_the_next_moment_is_the_first_with_half_of_the_bucket(history):
    rate, claims = history
    bucket, now = Bucket(), NOW
    for wait, wanted, _, _ in claims:
        now += wait * rate.interval
        taken = min(wanted, bucket.tokens(rate, now))
        bucket = bucket.take(rate, taken, now) if taken else bucket
        at = max(now, bucket.next_at(rate, now))
        half = max(1, rate.burst // 2)
        assert bucket.tokens(rate, at) >= half
        assert at == now or bucket.tokens(rate, at - timedelta(microseconds=1)) == half - 1


def test_a_token_that_comes_back_at_once_can_be_taken_again():
    rate = Rate.parse("1/h")
    bucket = Bucket().take(rate, 1, NOW)
    assert bucket.tokens(rate, NOW) == 0
    assert bucket.give_back(rate, NOW, NOW).tokens(rate, NOW) == 1


def test_a_token_whose_place_another_has_taken_does_not_come_back():
    rate = Rate.parse("1/s")
    bucket = Bucket().take(rate, 1, NOW)
    later = NOW + 2 * rate.interval
    bucket = bucket.take(rate, 1, later)
    assert bucket.give_back(rate, NOW, later).tokens(rate, later) == 0


def test_a_clock_that_was_set_back_stops_nothing_for_long():
    rate = Rate.parse("10/s")
    bucket = Bucket().take(rate, 1, NOW + timedelta(days=1))
    assert bucket.next_at(rate, NOW) <= NOW + rate.interval
