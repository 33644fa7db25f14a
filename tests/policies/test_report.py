"""What a task may say of itself."""

import pytest

from django_locqueue.policies.report import Report, with_metadata, with_progress


def test_a_fraction_and_words():
    assert with_progress(None, 0.4, "page 4 of 10") == Report(0.4, "page 4 of 10")


def test_words_alone_keep_the_fraction():
    assert with_progress(Report(0.4, "page 4"), None, "still there") == Report(0.4, "still there")


@pytest.mark.parametrize("fraction", [0, 1, True + 0.0])
def test_both_ends_are_fractions(fraction: float):
    assert with_progress(None, fraction).fraction == float(fraction)


@pytest.mark.parametrize("fraction", [-0.1, 1.01, float("nan"), float("inf"), True, "0.5"])
def test_what_is_none_is_refused(fraction: float):
    with pytest.raises(ValueError, match=r"takes a fraction from 0 to 1, got .*Divide"):
        with_progress(None, fraction)


def test_metadata_is_as_it_was_when_it_was_saved():
    metadata = {"page": 4}
    report = with_metadata(Report(0.4), metadata)
    metadata["page"] = 5
    assert report == Report(0.4, None, '{"page":4}')


@pytest.mark.parametrize("value", [{1, 2}, (1, 2), float("nan"), object()])
def test_metadata_that_json_would_change_is_refused(value: object):
    with pytest.raises((TypeError, ValueError), match=r"metadata\['bad'\]"):
        with_metadata(None, {"bad": value})
