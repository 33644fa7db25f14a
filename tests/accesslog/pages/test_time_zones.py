"""Hours and days are the project's, with time zones and without."""

import datetime
from typing import Any

import pytest
from django.contrib.admin.options import IncorrectLookupParameters

from django_locqueue.accesslog.admin.filters import moment_of
from django_locqueue.accesslog.admin.log_links import stamp
from django_locqueue.accesslog.admin.shown import second

MOMENT = datetime.datetime(2026, 11, 30, 14, tzinfo=datetime.UTC)


def test_a_link_means_the_same_moment_where_it_leads() -> None:
    assert moment_of(stamp(MOMENT)) == MOMENT


def test_without_time_zones_too(settings: Any) -> None:
    settings.USE_TZ = False
    naive = MOMENT.replace(tzinfo=None)
    assert moment_of(stamp(naive)) == naive


def test_a_time_without_a_zone_is_the_projects(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    assert moment_of("2026-11-30T22:00") == MOMENT


def test_a_time_with_a_zone_is_understood_by_a_project_without(settings: Any) -> None:
    settings.USE_TZ = False
    settings.TIME_ZONE = "Asia/Shanghai"
    assert moment_of("2026-11-30T14:00Z") == MOMENT.replace(hour=22, tzinfo=None)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Shanghai"])
@pytest.mark.parametrize("text", ["0001-01-01T00:00Z", "0001-01-01T00:00+14:00", "0001-01-01", "9999-12-31T23:59Z"])
def test_a_time_that_is_in_no_year_elsewhere_is_refused(text: str, zone: str, settings: Any) -> None:
    settings.TIME_ZONE = zone
    with pytest.raises(IncorrectLookupParameters):
        moment_of(text)


def test_a_column_shows_local_time(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    assert second(MOMENT) == "2026-11-30 22:00:00"
