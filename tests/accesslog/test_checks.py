"""System checks say what is wrong with the settings, and what to do."""

import pytest

from django_locqueue.accesslog.checks import ENTRIES, KINDS, MIDDLEWARE, check_access_log
from django_locqueue.accesslog.conf import GEO_DEFAULTS, access_log
from django_locqueue.accesslog.geo import checks as geo_checks


def found():
    messages = check_access_log()
    assert all(message.hint for message in messages)
    return [str(message.id).removeprefix("locqueue_accesslog.") for message in messages]


async def acoroutine(request, response=None):
    return False


def test_the_defaults_are_right(site):
    assert found() == []


def test_a_missing_middleware_is_noticed(site):
    site.MIDDLEWARE = []
    assert found() == ["W001"]


def test_a_missing_middleware_is_meant_when_the_log_is_off(configure, site):
    configure(ENABLED=False)
    site.MIDDLEWARE = []
    assert found() == []


def test_a_middleware_that_is_not_first_is_noticed(site):
    site.MIDDLEWARE = ["django.middleware.common.CommonMiddleware", MIDDLEWARE]
    assert found() == ["W002"]


def test_a_middleware_that_is_listed_twice_is_noticed(site):
    site.MIDDLEWARE = [MIDDLEWARE, "django.middleware.common.CommonMiddleware", MIDDLEWARE]
    assert found() == ["W005"]


def test_every_setting_is_checked():
    assert access_log.defaults.keys() - KINDS.keys() - ENTRIES.keys() == {"SPOOL_DIR", "GEO"}  # by checks of their own
    assert geo_checks.KINDS.keys() == GEO_DEFAULTS.keys()


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"BACKEND": "bufer"}, ["E001"]),
        ({"OVERFLOW": "spol"}, ["E001"]),
        ({"USER": True}, ["E001"]),
        ({"BUFFER_SIZE": 0}, ["E002"]),
        ({"BATCH": 1.5}, ["E002"]),
        ({"BATCH": True}, ["E002"]),
        ({"INTERVAL": "1"}, ["E002"]),
        ({"PREFIX_V4": 33}, ["E002"]),
        ({"EXCLUDE_PATHS": ["/ok/", "STATIC_URL", "no good", 7]}, ["E003", "E003"]),
        ({"EXCLUDE_PATHS": ["STATIK_URL"]}, ["E003"]),
        ({"EXCLUDE_PATHS": ["DEBUG_TOOLBAR", "MEDIA_URL"]}, ["E003"]),
        ({"EXCLUDE_PATHS": "/health"}, ["E014"]),
        ({"EXCLUDE_PATHS": None}, ["E014"]),
        ({"EXCLUDE_METHODS": "OPTIONS"}, ["E014"]),
        ({"QUEUE_NAME": ""}, ["E013"]),
        ({"QUEUE_NAME": None}, ["E013"]),
        ({"QUEUE_NAME": "x" * 129}, ["E013"]),
        ({"QUEUE_NAME": "two\nlines"}, ["E013"]),
        ({"ENABLED": "False"}, ["E012"]),
        ({"ENABLED": 1}, ["E012"]),
        ({"ACTION": "nowhere.at.all"}, ["E004"]),
        ({"ACTION": 7}, ["E004"]),
        ({"TRUSTED_PROXIES": ["10.0.0.0/8"], "TRUSTED_PROXY_COUNT": 1}, ["E005"]),
        ({"TRUSTED_PROXIES": ["10.0.0.0/8", "unix:", "::1"]}, []),
        ({"TRUSTED_PROXIES": ["10.0.0.1/8"]}, ["E006"]),
        ({"TRUSTED_PROXIES": "proxy.example"}, ["E006"]),
        ({"IP_HEADER": "HTTP_X_REAL_IP"}, ["W006"]),
        ({"IP_HEADER": "HTTP_X_REAL_IP", "TRUSTED_PROXY_COUNT": 1}, []),
        ({"TRUSTED_PROXIES": ["0.0.0.0/0", "::/0"]}, ["W003", "W003"]),
        ({"TRUSTED_PROXY_COUNT": "1"}, ["E007"]),
        ({"TRUSTED_PROXY_COUNT": -1}, ["E007"]),
        ({"IP_HEADER": "X-Real-IP", "TRUSTED_PROXY_COUNT": 1}, ["E008"]),
        ({"EXCLUDE_VIEWS": "order"}, ["E020"]),
        ({"EXCLUDE_VIEWS": [7]}, ["E023"]),
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
        ({"CLIENT_IP": "tests.accesslog.test_checks.acoroutine"}, ["E026"]),
        ({"CLIENT_IP": lambda request: None, "TRUSTED_PROXIES": ["10.0.0.0/8"]}, ["W021"]),
        ({"BOTS": "skipp"}, ["E027"]),
        ({"MEASURE_STREAMING": "no"}, ["E028"]),
        ({"ACTION": acoroutine}, ["E004"]),
        ({"SLOW_MS": float("inf")}, []),
    ],
)
def test_a_wrong_value_is_an_error(configure, keys, expected):
    configure(**keys)
    assert found() == expected


def test_a_misspelt_value_is_told_what_was_meant(configure):
    configure(BACKEND="bufer")
    assert "Did you mean 'buffer'?" in str(check_access_log()[0].hint)


def test_a_header_name_is_told_as_django_writes_it(configure):
    configure(IP_HEADER="X-Real-IP")
    assert '"HTTP_X_REAL_IP"' in str(check_access_log()[0].hint)
