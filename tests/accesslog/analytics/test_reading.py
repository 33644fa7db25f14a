"""What a page is told."""

import datetime
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_locqueue.accesslog.analytics.histogram import class_of
from django_locqueue.accesslog.analytics.period import Period
from django_locqueue.accesslog.analytics.reading import change, countries, overview, top
from django_locqueue.accesslog.analytics.sketch import Distinct
from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.analytics.tasks import count_stale_hours
from django_locqueue.accesslog.models import AccessLog, HourlyStat
from tests.accesslog.analytics.rows import HOUR, located, log, logged

pytestmark = pytest.mark.django_db

NOW = HOUR + datetime.timedelta(minutes=30)
DAY = Period.last(24, NOW)


def hours(number):
    return datetime.timedelta(hours=number)


def counted(*rows):
    log(*rows)
    mark_stale(row.time for row in rows)
    count_stale_hours()


def lines(table):
    return [(entry.label, entry.figures.hits) for entry in table.entries]


# Periods


def test_a_period_ends_with_the_hour_that_runs():
    assert Period(HOUR - hours(23), HOUR + hours(1)) == DAY


def test_the_period_before_is_as_long():
    assert DAY.before == Period(HOUR - hours(47), HOUR - hours(23))


def test_a_period_of_no_hours_is_refused():
    with pytest.raises(ValueError, match="has at least one"):
        Period(HOUR, HOUR)


def test_a_period_that_begins_within_an_hour_is_refused():
    with pytest.raises(ValueError, match="begins and ends with an hour"):
        Period(NOW, HOUR + hours(1))


# Against a recount

random_rows = st.lists(
    st.fixed_dictionaries(
        {
            "time": st.integers(-50 * 60, 59).map(lambda minute: HOUR + datetime.timedelta(minutes=minute)),
            "ip": st.sampled_from([None, "49.65.250.135", "8.8.8.8"]),
            "path": st.sampled_from(["/", "/a", "/A", "/b"]),
            "status": st.sampled_from([200, 404, 500]),
            "duration_ms": st.floats(0, 1e6),
            "is_bot": st.booleans(),
        }
    ),
    max_size=40,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(rows=random_rows, bots=st.booleans())
def test_every_number_that_is_read_equals_a_recount_from_the_log(db, rows, bots):
    AccessLog.objects.all().delete()
    HourlyStat.objects.all().delete()
    counted(*(logged(**fields) for fields in rows))
    everybody = [row for row in AccessLog.objects.all() if DAY.start <= row.time < DAY.end]
    shown = [row for row in everybody if bots or not row.is_bot]
    durations = sorted(row.duration_ms for row in shown)

    found = overview(DAY, NOW, bots=bots)
    totals = found.totals
    assert totals.figures.hits == len(shown)
    assert totals.figures.errors == sum(row.status == 500 for row in shown)
    assert totals.figures.total_ms == pytest.approx(sum(durations))
    assert totals.figures.longest_ms == max(durations, default=0)
    assert totals.visitors == Distinct(len({row.ip for row in shown} - {None}), is_exact=True)
    assert (totals.bots, totals.everything) == (sum(row.is_bot for row in everybody), len(everybody))
    assert [hour.hits for hour in found.hours] == [
        sum(hour <= row.time < hour + hours(1) for row in shown) for hour in DAY.hours()
    ]
    if shown:
        true = durations[-(-95 * len(durations) // 100) - 1]
        assert class_of(totals.figures.p95_ms) == class_of(true)

    paths = top("path", DAY, bots=bots)
    assert {entry.key: entry.figures.hits for entry in paths.entries} == Counter(row.path for row in shown)
    assert paths.hits == len(shown)
    assert sum(entry.share for entry in paths.entries) == pytest.approx(1 if shown else 0)
    for entry in paths.entries:
        assert entry.figures.errors == sum(row.path == entry.key and row.status == 500 for row in shown)
        own = sorted(row.duration_ms for row in shown if row.path == entry.key)
        assert class_of(entry.figures.p95_ms) == class_of(own[-(-95 * len(own) // 100) - 1])


# The overview


def test_the_running_hour_is_no_part_of_a_comparison():
    before = [logged(hour=HOUR - hours(number)) for number in (24, 24, 25, 48)]
    counted(logged(), logged(hour=HOUR - hours(1)), logged(hour=HOUR - hours(2)), *before)
    comparison = overview(DAY, NOW).comparison
    assert comparison.now.figures.hits == 2
    assert comparison.before.figures.hits == 1  # 25 hours ago; 24 hours ago was the hour that runs now


def test_the_hours_before_are_those_of_the_day_before():
    counted(logged(), logged(hour=HOUR - hours(24)), logged(hour=HOUR - hours(24), is_bot=True))
    assert overview(DAY, NOW).hours_before == overview(DAY.before, NOW).hours
    assert overview(DAY, NOW, compare=False).hours_before is None


def test_a_period_that_is_over_is_compared_as_a_whole():
    counted(logged(hour=HOUR - hours(1)), logged(hour=HOUR - hours(2)), logged(hour=HOUR - hours(3)))
    found = overview(Period(HOUR - hours(2), HOUR), NOW).comparison
    assert (found.now.figures.hits, found.before.figures.hits) == (2, 1)


def test_an_hour_that_has_just_begun_has_nothing_to_be_compared_with():
    counted(logged())
    assert overview(Period.last(1, NOW), NOW).comparison is None


@pytest.mark.parametrize(("now", "before", "grown"), [(104, 100, 0.04), (50, 100, -0.5), (5, 0, None), (None, 5, None)])
def test_a_change_is_a_share_of_what_was_before(now, before, grown):
    assert change(now, before) == (None if grown is None else pytest.approx(grown))


def test_somebody_who_comes_every_hour_is_one_visitor():
    counted(*(logged(hour=HOUR - hours(number)) for number in range(5)))
    assert overview(DAY, NOW).totals.visitors == Distinct(1, is_exact=True)


def test_before_the_first_request_all_is_zero():
    found = overview(DAY, NOW)
    assert (found.totals.figures.hits, found.totals.figures.p95_ms, found.totals.bot_share) == (0, None, 0)
    assert len(found.hours) == 24
    assert top("path", DAY).entries == []


# Tables


def test_the_busiest_come_first_and_what_is_not_shown_is_in_the_sum():
    counted(*(logged(path=path) for path in "aaabbc"))
    table = top("path", DAY, limit=2)
    assert lines(table) == [("a", 3), ("b", 2)]
    assert (table.hits, table.entries[0].share) == (6, 0.5)


def test_what_was_too_rare_for_a_row_has_no_line_and_takes_none(monkeypatch):
    monkeypatch.setattr("django_locqueue.accesslog.analytics.tally.MOST_KEYS", 2)
    counted(*(logged(path=path) for path in "aaabbcdefg"))
    assert lines(top("path", DAY, limit=2)) == [("a", 3), ("b", 2)]


def test_a_country_in_two_spellings_is_one_line_by_the_name_of_the_most_requests():
    located(province="北京市")
    located("8.8.8.0/24", country="China", province="Beijing")
    counted(logged(), logged(duration_ms=500), logged(ip="8.8.8.8", duration_ms=5000))
    table = top("country", DAY)
    assert lines(table) == [("中国", 3)]
    assert (table.entries[0].key, table.entries[0].share) == ("CN", 1)
    assert class_of(table.entries[0].figures.p95_ms) == class_of(5000)
    assert lines(top("province", DAY)) == [("北京", 3)]


def test_the_cities_of_a_country_or_a_province_are_asked_for_by_its_key():
    located(city="南京")
    located("49.65.251.0/24", province="浙江", city="杭州")
    located("8.8.8.0/24", country_code="US", country="美国", province="California", city="Mountain View")
    counted(logged(), logged(), logged(ip="49.65.251.1"), logged(ip="8.8.8.8"))
    country = top("country", DAY).entries[0].key
    provinces = top("province", DAY, within=country)
    assert lines(provinces) == [("江苏", 2), ("浙江", 1)]
    assert provinces.hits == 3
    assert lines(top("city", DAY, within=provinces.entries[1].key)) == [("杭州", 1)]


def test_an_address_is_shown_with_its_place():
    located(city="南京")
    counted(logged())
    assert top("ip", DAY).entries[0].place == "中国 · 江苏 · 南京"


def test_countries_to_choose_from_are_those_that_have_a_code():
    located()
    located("8.8.8.0/24", country_code="", country="Утопия", province="")
    located("10.0.0.0/24", state="reserved", country_code="", country="", province="")
    counted(logged(), logged(ip="8.8.8.8"), logged(ip="10.0.0.1"), logged(ip=None))
    assert countries(DAY) == [("CN", "中国")]


@pytest.mark.parametrize(
    ("ask", "queries"),
    [
        (lambda: overview(DAY, NOW), 1),
        (lambda: top("path", DAY), 2),
        (lambda: top("country", DAY), 2),
        (lambda: top("ip", DAY), 3),
        (lambda: countries(DAY), 1),
    ],
    ids=["overview", "paths", "countries", "addresses", "choices"],
)
def test_a_page_asks_the_same_number_of_queries_however_much_there_was(ask, queries, django_assert_num_queries):
    located()
    counted(*(logged(hour=HOUR - hours(n % 4), path=f"/{n}", ip=f"49.65.{n}.1") for n in range(20)))
    with django_assert_num_queries(queries):
        ask()
