"""Counting what is different."""

from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog.analytics.sketch import Distinct, K, distinct, sketch_of, united

names = st.sets(st.text(max_size=20), max_size=50)


def addresses(first, last):
    return {f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(first, last)}


def test_few_are_counted_exactly():
    assert distinct(sketch_of(addresses(0, K - 1))) == Distinct(K - 1, is_exact=True)


def test_none_are_none():
    assert distinct(united([])) == distinct(sketch_of([])) == Distinct(0, is_exact=True)


def test_many_are_estimated():
    found = distinct(sketch_of(addresses(0, 100_000)))
    assert not found.is_exact
    assert abs(found.number / 100_000 - 1) < 5 / (K - 2) ** 0.5  # once in millions of keys it is not


def test_hours_overlap_in_those_who_came_again():
    hours = [sketch_of(addresses(start, start + 20_000)) for start in range(0, 100_000, 5_000)]
    assert united(hours) == sketch_of(addresses(0, 115_000))


@given(names, names)
def test_a_union_is_the_sketch_of_both(first, second):
    assert united([sketch_of(first), sketch_of(second)]) == sketch_of(first | second)


def test_a_sketch_is_eight_kilobytes_at_most():
    assert len(sketch_of(addresses(0, 5 * K))) == 8 * K


def test_nobody_without_the_secret_key_reads_who_was_there(settings):
    ours = sketch_of(["49.65.250.135"])
    settings.SECRET_KEY = "another site's"
    assert sketch_of(["49.65.250.135"]) != ours
