"""A day that is over is added up, and nobody can tell from the numbers."""

import datetime
import random

import pytest

from django_locqueue.accesslog.analytics import days
from django_locqueue.accesslog.analytics.days import Span, add_up, day_of, days_to_add_up, spans
from django_locqueue.accesslog.analytics.period import Period
from django_locqueue.accesslog.analytics.reading import overview, top
from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.analytics.tasks import count_stale_hours
from django_locqueue.accesslog.models import HourlyStat
from django_locqueue.accesslog.retention import prune
from tests.accesslog.analytics.rows import HOUR, located, log, logged

pytestmark = pytest.mark.django_db

DAY = datetime.timedelta(days=1)
NOW = HOUR + datetime.timedelta(minutes=30)
LONG = Period.last(10 * 24, NOW)
TODAY = day_of(HOUR)


def counted(*rows):
    log(*rows)
    mark_stale(row.time for row in rows)
    count_stale_hours()


def add_all_up():
    found = days_to_add_up(NOW)
    assert all(add_up(day) for day in found)
    return found


def test_every_number_is_the_same_when_the_days_are_added_up():
    located()
    located("8.8.8.0/24", country_code="US", country="美国", province="California", city="Mountain View")
    chance = random.Random(5)
    counted(
        *(
            logged(
                hour=HOUR - datetime.timedelta(hours=chance.randrange(20 * 24)),
                ip=chance.choice([None, "49.65.250.135", "49.65.250.136", "8.8.8.8"]),
                path=chance.choice(["/", "/a", "/A", "/b"]),
                status=chance.choice([200, 404, 500]),
                duration_ms=chance.choice([1.0, 16.0, 256.0]),
                is_bot=chance.random() < 0.3,
            )
            for _ in range(400)
        )
    )

    def numbers():
        return [
            (overview(LONG, NOW, bots=bots), [top(dimension, LONG, bots=bots) for dimension in HourlyStat.Dimension])
            for bots in (True, False)
        ]

    by_hours = numbers()
    assert len(add_all_up()) == 20
    assert sum(span.of_days for span in spans(LONG)) == 1
    assert numbers() == by_hours


def test_the_day_that_runs_is_not_added_up():
    counted(logged(), logged(hour=HOUR - DAY))
    assert days_to_add_up(NOW) == [TODAY - DAY]


def test_a_day_is_added_up_once():
    counted(logged(hour=HOUR - DAY))
    add_all_up()
    assert days_to_add_up(NOW) == []


def test_an_hour_that_is_counted_anew_has_its_day_added_up_anew():
    counted(logged(hour=HOUR - DAY), logged(hour=HOUR - 2 * DAY))
    add_all_up()
    counted(logged(hour=HOUR - DAY))
    assert days_to_add_up(NOW) == [TODAY - DAY]


def test_sums_of_an_hour_that_is_counted_meanwhile_are_not_stored(monkeypatch):
    counted(logged(hour=HOUR - DAY))
    sums_of = days._sums

    def meanwhile(*args):
        found = list(sums_of(*args))
        counted(logged(hour=HOUR - DAY))
        return found

    monkeypatch.setattr(days, "_sums", meanwhile)
    assert not add_up(TODAY - DAY)
    assert days_to_add_up(NOW) == [TODAY - DAY]


def test_a_day_over_which_a_cut_goes_is_read_by_hours():
    counted(logged(hour=HOUR - 3 * DAY), logged(hour=HOUR - 4 * DAY))
    add_all_up()
    cut = TODAY - 3 * DAY + datetime.timedelta(hours=5)
    four = TODAY - 4 * DAY
    assert spans(LONG, [cut]) == [
        Span(of_days=False, start=LONG.start, end=four),
        Span(of_days=True, start=four, end=four + DAY),
        Span(of_days=False, start=four + DAY, end=LONG.end),
    ]


def test_addresses_of_a_day_are_kept_as_long_as_the_log(configure):
    configure(RETENTION_DAYS=5)
    counted(logged(hour=HOUR - 9 * DAY))
    add_all_up()
    prune(NOW)
    left = set(HourlyStat.objects.values_list("dimension", flat=True))
    assert "+all" in left
    assert "+ip" not in left


def test_each_dimension_has_one_of_its_own_for_days():
    names = [*HourlyStat.Dimension, *days.ALL_OF_DAYS]
    assert len(set(names)) == len(names)
    assert HourlyStat._meta.get_field("dimension").max_length == days.DIMENSION_LENGTH
