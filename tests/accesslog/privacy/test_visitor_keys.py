"""The keys of visitors: one a day for all processes, and none that is older than yesterday's."""

import datetime
import logging
import time

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_locqueue.accesslog.models import VisitorKey
from django_locqueue.accesslog.privacy import visitor_keys
from django_locqueue.accesslog.privacy.visitor_keys import VisitorKeys, day_of
from django_locqueue.accesslog.throttled import ThrottledLogger

DAY = 86_400.0
NOON = 1_790_000_000.0 // DAY * DAY + DAY / 2


@pytest.fixture
def at(monkeypatch):
    """Return a function that stops the clock at a moment."""

    def stop(moment):
        monkeypatch.setattr(time, "time", lambda: moment)

    stop(NOON)
    return stop


def days():
    return [str(day) for day in VisitorKey.objects.order_by("day").values_list("day", flat=True)]


@pytest.mark.django_db
def test_processes_share_the_key_of_a_day(at):
    one, other = VisitorKeys(), VisitorKeys()
    one.load()
    other.load()
    assert one.of(NOON) == other.of(NOON) == bytes(VisitorKey.objects.get().key)


@pytest.mark.django_db
def test_a_day_later_the_key_is_another(at):
    keys = VisitorKeys()
    keys.load()
    at(NOON + DAY)
    keys.load()
    assert keys.of(NOON) != keys.of(NOON + DAY)


@pytest.mark.django_db
def test_the_database_is_asked_once_a_day(at):
    keys = VisitorKeys()
    keys.load()
    with CaptureQueriesContext(connection) as queries:
        keys.load()
        at(NOON + DAY / 2 - 1)
        keys.load()
    assert len(queries) == 0
    at(NOON + DAY / 2)
    assert keys.is_due()


@pytest.mark.django_db
def test_whoever_makes_a_days_key_deletes_all_but_yesterdays(at):
    for number in range(4):
        at(NOON + number * DAY)
        VisitorKeys().load()
    assert days() == [str(day_of(NOON + number * DAY)) for number in (2, 3)]


@pytest.mark.django_db
def test_a_process_forgets_keys_too(at):
    keys = VisitorKeys()
    keys.load()
    first = keys.of(NOON)
    at(NOON + 2 * DAY)
    keys.load()
    assert keys.of(NOON) != first


@pytest.mark.django_db
def test_what_comes_in_after_midnight_from_before_has_the_key_of_its_day(at):
    keys = VisitorKeys()
    keys.load()
    before = keys.of(NOON)
    at(NOON + DAY)
    keys.load()
    assert keys.of(NOON) == before


def test_without_a_database_a_process_has_a_key_of_its_own_and_says_so_once(at, caplog, monkeypatch):
    def away(today):
        raise ConnectionError

    monkeypatch.setattr(visitor_keys, "stored_key", away)
    monkeypatch.setattr(visitor_keys, "logger", ThrottledLogger(logging.getLogger("tests")))
    keys = VisitorKeys()
    for _ in range(3):
        keys.load()
    assert keys.of(NOON) == keys.of(NOON + 1)
    assert len(keys.of(NOON)) == 32
    assert len(caplog.records) == 1


def test_a_site_that_logs_its_hits_needs_no_database(at, configure, monkeypatch):
    asked = []
    monkeypatch.setattr(visitor_keys, "stored_key", asked.append)
    configure(BACKEND="logging")
    VisitorKeys().load()
    assert asked == []


@pytest.mark.django_db
def test_it_is_asked_again_half_a_minute_later(at, monkeypatch):
    stored = visitor_keys.stored_key
    keys = VisitorKeys()
    monkeypatch.setattr(visitor_keys, "stored_key", lambda today: 1 / 0)
    keys.load()
    monkeypatch.setattr(visitor_keys, "stored_key", stored)
    at(NOON + 31)
    keys.load()
    assert keys.of(NOON) == bytes(VisitorKey.objects.get().key)


def test_a_day_is_one_of_the_sites_time_zone(settings):
    settings.TIME_ZONE = "Asia/Shanghai"
    evening = datetime.datetime(2026, 11, 30, 17, tzinfo=datetime.UTC).timestamp()
    assert day_of(evening) == datetime.date(2026, 12, 1)
