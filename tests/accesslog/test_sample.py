"""A share of the requests stands for all of them."""

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog import rules
from django_locqueue.accesslog.rules import Sample


@pytest.fixture
def drawn(monkeypatch):
    """Return a function that sets what is drawn, again and again."""

    def draw(number):
        monkeypatch.setattr(rules.random, "random", lambda: number)

    return draw


@pytest.mark.parametrize(("number", "weights"), [(0.24, [4.0]), (0.25, [])])
def test_a_request_is_kept_with_the_weight_of_all_that_it_stands_for(hits, configure, drawn, number, weights):
    configure(SAMPLE_RATE=0.25)
    drawn(number)
    Client().get("/page/")
    assert [hit.weight for hit in hits] == weights


def test_errors_are_always_kept_and_stand_for_themselves(hits, configure):
    configure(SAMPLE_RATE=0)
    client = Client(raise_request_exception=False)
    for path in ("/page/", "/nowhere/", "/fails/"):
        client.get(path)
    assert [(hit.status, hit.weight) for hit in hits] == [(500, 1.0)]


def test_slow_requests_are_always_kept(hits, configure):
    configure(SAMPLE_RATE=0, SLOW_MS=0)
    Client().get("/page/")
    assert [hit.weight for hit in hits] == [1.0]


def test_all_are_kept_by_default(hits, configure, drawn):
    drawn(0.999999)
    Client().get("/page/")
    assert [hit.weight for hit in hits] == [1.0]


@given(
    rate=st.floats(0, 1, exclude_min=True),
    status=st.integers(0, 599),
    duration=st.floats(0, 100),
)
def test_no_request_stands_for_less_than_itself(rate, status, duration):
    weight = Sample(rate, slow=1.0).weight(status, duration)
    assert weight in (0.0, 1.0, 1 / rate)
    assert weight == 1.0 or (status < 500 and duration < 1.0)
