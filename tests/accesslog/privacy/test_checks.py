"""Wrong settings of privacy are reported before a request meets them."""

import pytest

from django_locqueue.accesslog.checks import check_access_log
from django_locqueue.accesslog.privacy.checks import check_privacy


def found(configure, **keys):
    configure(**keys)
    return [f"{message.id.partition('.')[2]} {message.msg}" for message in [*check_privacy(), *check_access_log()]]


def test_the_defaults_are_right(configure):
    configure()
    assert check_privacy() == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"IP_STORAGE": "truncated"}, """E001 LOCQUEUE["ACCESS_LOG"]["IP_STORAGE"] is 'truncated'."""),
        ({"PATH": "no"}, """E001 LOCQUEUE["ACCESS_LOG"]["PATH"] is 'no'."""),
        ({"QUERY_PARAMS": "q"}, """E014 LOCQUEUE["ACCESS_LOG"]["QUERY_PARAMS"] must be a list, got 'q'."""),
        ({"RESPECT_GPC": "yes"}, """E040 LOCQUEUE["ACCESS_LOG"]["RESPECT_GPC"] is 'yes'."""),
        ({"RESPECT_DNT": 1}, """E040 LOCQUEUE["ACCESS_LOG"]["RESPECT_DNT"] is 1."""),
        ({"QUERY_PARAMS": ["*_id"]}, "E041"),
        ({"QUERY_PARAMS": [7]}, "E041"),
        ({"QUERY_PARAMS": [""]}, "E041"),
        ({"QUERY_PARAMS": ["q", "api_key"]}, "E042"),
        ({"QUERY_PARAMS": ["token*"]}, "E042"),
        ({"IP_STORAGE": "truncate", "PREFIX_V4": 32}, "W040"),
        ({"IP_STORAGE": "truncate", "PREFIX_V6": 64}, "W040"),
        ({"RETENTION_DAYS": 0}, "E043"),
        ({"RETENTION_DAYS": 0.5}, "E043"),
        ({"ROLLUP_RETENTION_DAYS": True}, "E043"),
        ({"RETENTION_DAYS": None}, "W041"),
    ],
)
def test_what_is_wrong_is_reported(configure, keys, message):
    assert any(each.startswith(message) for each in found(configure, **keys))


@pytest.mark.parametrize(
    "keys",
    [
        {"QUERY_PARAMS": ("q", "utm_*", "*")},
        {"IP_STORAGE": "full", "PREFIX_V4": 32},
        {"IP_STORAGE": "hash", "PREFIX_V4": 32},
        {"ROLLUP_RETENTION_DAYS": None},
    ],
)
def test_what_is_right_is_not(configure, keys):
    configure(**keys)
    assert check_privacy() == []
