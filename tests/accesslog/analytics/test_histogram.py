"""Durations by class, and what a percentile of them is worth."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog.analytics.histogram import BOUNDS, ClassOf, class_of, merged, percentile
from django_locqueue.accesslog.models import AccessLog
from tests.accesslog.analytics.rows import log, logged

durations = st.lists(st.floats(0, 1e9, allow_nan=False), min_size=1, max_size=200)


def histogram_of(values):
    return merged({str(class_of(value)): 1} for value in values)


def test_classes_end_at_the_numbers_of_the_e12_series():
    assert [bound for bound in BOUNDS if 10 <= bound <= 100] == [10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82, 100]


def test_each_class_begins_where_the_one_before_ends():
    assert all(low < high <= low * 1.26 for low, high in pairwise(BOUNDS))


@given(durations, st.sampled_from([0.5, 0.95, 0.99]))
def test_a_percentile_is_in_the_class_of_the_true_one(values, share):
    true = sorted(values)[math.ceil(share * len(values)) - 1]
    found = percentile(histogram_of(values), share, max(values))
    assert class_of(found) == class_of(true)


@given(durations)
def test_no_percentile_is_longer_than_the_longest(values):
    assert percentile(histogram_of(values), 0.95, max(values)) <= max(values)


@given(durations, durations)
def test_histograms_of_hours_add_up_to_that_of_both(first, second):
    assert merged([histogram_of(first), histogram_of(second)]) == histogram_of([*first, *second])


def test_of_no_requests_there_is_no_percentile():
    assert percentile({}, 0.95, 0.0) is None


@pytest.mark.django_db
def test_the_database_finds_the_same_classes():
    values = [0.0, 0.05, *BOUNDS, *(math.nextafter(bound, math.inf) for bound in BOUNDS), 1e9]
    log(*(logged(duration_ms=value) for value in values))
    found = AccessLog.objects.annotate(number=ClassOf("duration_ms")).values_list("duration_ms", "number")
    assert sorted(found) == sorted((value, class_of(value)) for value in values)
