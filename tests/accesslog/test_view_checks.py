"""A view that is left out by a name that no URL has is noticed."""

import pytest

from django_locqueue.accesslog.view_checks import check_views


def found():
    messages = check_views()
    assert all(message.hint for message in messages)
    return [str(message.id).removeprefix("locqueue_accesslog.") for message in messages]


def test_the_defaults_are_right(site):
    assert found() == []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"EXCLUDE_VIEWS": ["order", "page", "tests.accesslog.urls.who"]}, []),
        ({"EXCLUDE_VIEWS": ["ordr"]}, ["W020"]),
    ],
)
def test_a_name_that_no_url_has_is_noticed(configure, keys, expected):
    configure(**keys)
    assert found() == expected


def test_a_name_that_no_url_has_is_told_with_a_guess(configure):
    configure(EXCLUDE_VIEWS=["ordr"])
    [message] = check_views()
    assert "'order'" in message.hint


def test_names_in_namespaces_are_known(configure, site):
    site.ROOT_URLCONF = "tests.urls"
    configure(EXCLUDE_VIEWS=["admin:index"])
    assert found() == []


def test_urls_that_cannot_be_read_are_left_to_djangos_check(configure, site):
    site.ROOT_URLCONF = "nowhere.to.be.found"
    configure(EXCLUDE_VIEWS=["page"])
    assert found() == []
