"""How often a network is asked for is checked before a worker needs it."""

import pytest

from django_locqueue.accesslog.locating_checks import check_locating


@pytest.mark.parametrize(
    "keys", [{}, {"MAX_ATTEMPTS": 1}, {"CACHE_DAYS": 0.5 + 0.5}, {"NEGATIVE_HOURS": 8760}, {"NEGATIVE_HOURS": 1.5}]
)
def test_right_values_are_taken(configure, keys):
    configure(GEO=keys)
    assert check_locating() == []


@pytest.mark.parametrize(
    "keys",
    [
        {"MAX_ATTEMPTS": 0},
        {"MAX_ATTEMPTS": 1.5},
        {"MAX_ATTEMPTS": True},
        {"CACHE_DAYS": None},
        {"CACHE_DAYS": "30"},
        {"NEGATIVE_HOURS": 0},
        {"NEGATIVE_HOURS": float("nan")},
    ],
)
def test_a_wrong_value_is_an_error_that_says_what_to_use(configure, keys):
    configure(GEO=keys)
    [message] = check_locating()
    [key] = keys
    assert message.id == "locqueue_accesslog.E054"
    assert key in message.msg
    assert message.hint.startswith("Use a")


def test_what_is_no_dict_is_said_once_by_the_check_of_the_providers(configure):
    configure(GEO=["xdb"])
    assert check_locating() == []
