"""System checks of what is recorded say what is wrong, and what to do."""

import pytest

from django_locqueue.accesslog.request_checks import check_requests


def found():
    messages = check_requests()
    assert all(message.hint for message in messages)
    return [str(message.id).removeprefix("locqueue_accesslog.") for message in messages]


async def acoroutine(request, response=None):
    return False


def test_the_defaults_are_right(site):
    assert found() == []


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"EXCLUDE_VIEWS": ["order", "page", "tests.accesslog.urls.who"]}, []),
        ({"EXCLUDE_VIEWS": "order"}, ["E020"]),
        ({"EXCLUDE_VIEWS": [7]}, ["E023"]),
        ({"EXCLUDE_VIEWS": ["ordr"]}, ["W020"]),
        ({"EXCLUDE_STATUS": [404]}, []),
        ({"EXCLUDE_STATUS": 404}, ["E020"]),
        ({"EXCLUDE_STATUS": ["404"]}, ["E022"]),
        ({"EXCLUDE_STATUS": [True]}, ["E022"]),
        ({"METHODS": ["GET"]}, []),
        ({"METHODS": "GET"}, ["E020"]),
        ({"METHODS": [7]}, ["E021"]),
        ({"SAMPLE_RATE": 0.1}, []),
        ({"SAMPLE_RATE": 0}, []),
        ({"SAMPLE_RATE": 10}, ["E024"]),
        ({"SAMPLE_RATE": float("nan")}, ["E024"]),
        ({"SAMPLE_RATE": "0.1"}, ["E024"]),
        ({"SAMPLE_RATE": True}, ["E024"]),
        ({"SLOW_MS": None}, ["E025"]),
        ({"SLOW_MS": -1}, ["E025"]),
        ({"FILTER": lambda request, response: True}, []),
        ({"FILTER": "nowhere.to.be.found"}, ["E026"]),
        ({"FILTER": 7}, ["E026"]),
        ({"FILTER": acoroutine}, ["E026"]),
        ({"CLIENT_IP": "tests.accesslog.test_request_checks.acoroutine"}, ["E026"]),
        ({"CLIENT_IP": lambda request: None, "TRUSTED_PROXIES": ["10.0.0.0/8"]}, ["W021"]),
        ({"BOTS": "skipp"}, ["E027"]),
        ({"MEASURE_STREAMING": "no"}, ["E028"]),
    ],
)
def test_settings(configure, keys, expected):
    configure(**keys)
    assert found() == expected


def test_a_name_that_no_url_has_is_told_with_a_guess(configure):
    configure(EXCLUDE_VIEWS=["ordr"])
    [message] = check_requests()
    assert "'order'" in message.hint


def test_names_in_namespaces_are_known(configure, site):
    site.ROOT_URLCONF = "tests.urls"
    configure(EXCLUDE_VIEWS=["admin:index"])
    assert found() == []


def test_urls_that_cannot_be_read_are_left_to_djangos_check(configure, site):
    site.ROOT_URLCONF = "nowhere.to.be.found"
    configure(EXCLUDE_VIEWS=["page"])
    assert found() == []
