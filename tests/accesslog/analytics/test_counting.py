"""Every count equals a recount of the log."""

import datetime
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_locqueue.accesslog.analytics import counting, tally
from django_locqueue.accesslog.analytics import tasks as counting_tasks
from django_locqueue.accesslog.analytics.counting import count
from django_locqueue.accesslog.analytics.exact import Exact
from django_locqueue.accesslog.analytics.histogram import class_of
from django_locqueue.accesslog.analytics.sketch import Distinct, distinct
from django_locqueue.accesslog.analytics.tasks import count_hours, count_stale_hours
from django_locqueue.accesslog.models import AccessLog, HourlyStat, Location, StaleHour
from tests.accesslog.analytics.rows import HOUR, located, log, logged

pytestmark = pytest.mark.django_db

ALL_DIMENSIONS = list(HourlyStat.Dimension)


def stats(dimension, rows=None):
    """Hits by key and bot, of unsaved rows or of those that are stored."""
    rows = HourlyStat.objects.all() if rows is None else rows
    return {(row.key, row.is_bot): row.hits for row in rows if row.dimension == dimension}


def counted(*rows):
    log(*rows)
    return count(HOUR)


# Against a recount

moments = st.floats(-30, 90).map(lambda minute: HOUR + datetime.timedelta(minutes=minute))
random_rows = st.lists(
    st.fixed_dictionaries(
        {
            "time": moments,
            "ip": st.sampled_from([None, "49.65.250.135", "49.65.250.136", "8.8.8.8", "10.0.0.1", "2400:3200::1"]),
            "path": st.sampled_from(["/", "/a", "/A", "/á", "/…", "%", "_"]),
            "action": st.sampled_from(["", "home"]),
            "host": st.sampled_from(["example.com", "example.com:8000"]),
            "referer": st.sampled_from(
                ["", "/a", "https://www.baidu.com/s", "https://baidu.com/", "http://example.com/"]
            ),
            "status": st.sampled_from([200, 204, 301, 404, 499, 500, 503]),
            "duration_ms": st.floats(0, 1e6),
            "is_bot": st.booleans(),
            "weight": st.sampled_from([1.0, 2.0, 4.0]),  # their sums are exact
        }
    ),
    max_size=40,
)

KEY_OF = {
    "all": lambda row: "",
    "status": lambda row: str(row.status)[0],
    "country": lambda row: {"49.65.250.0/24": "CN|中国", "8.8.8.0/24": "US|美国", "10.0.0.0/24": "-"}.get(
        row.prefix, ""
    ),
    "province": lambda row: {"49.65.250.0/24": "CN|江苏", "8.8.8.0/24": "US|", "10.0.0.0/24": "-"}.get(row.prefix, ""),
    "city": lambda row: {"49.65.250.0/24": "CN|江苏|", "8.8.8.0/24": "US||", "10.0.0.0/24": "-"}.get(row.prefix, ""),
    "isp": lambda row: {"8.8.8.0/24": "Level3"}.get(row.prefix, ""),
    "path": lambda row: row.path,
    "action": lambda row: row.action,
    "ip": lambda row: row.ip or "",
    "referer": lambda row: "baidu.com" if "baidu" in row.referer else "",
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(rows=random_rows)
def test_every_number_equals_a_recount_from_the_log(db, rows):
    AccessLog.objects.all().delete()
    Location.objects.all().delete()
    located(province="江苏省")
    located("8.8.8.0/24", country_code="US", country="美国", province="", isp="Level3")
    located("10.0.0.0/24", state="reserved", country_code="", country="", province="")
    log(*(logged(**fields) for fields in rows))
    found = {(row.dimension, row.key, row.is_bot): row for row in count(HOUR)}

    expected = {}
    for row in AccessLog.objects.filter(time__gte=HOUR, time__lt=HOUR + datetime.timedelta(hours=1)):
        for dimension, key_of in KEY_OF.items():
            expected.setdefault((dimension, key_of(row), row.is_bot), []).append(row)
    assert found.keys() == expected.keys()
    for key, requests in expected.items():
        row = found[key]
        histogram = Counter()
        for each in requests:
            histogram[str(class_of(each.duration_ms))] += each.weight
        assert row.hits == sum(each.weight for each in requests)
        assert row.errors == sum(each.weight for each in requests if each.status >= 500)
        assert row.longest_ms == max(each.duration_ms for each in requests)
        assert row.total_ms == pytest.approx(sum(each.duration_ms * each.weight for each in requests))
        assert row.histogram == histogram
        if row.dimension == "all":
            visitors = {each.ip for each in requests} - {None}
            assert distinct(row.visitors) == Distinct(len(visitors), is_exact=True)


# What a count is


def test_a_sampled_request_stands_for_as_many_as_its_weight():
    rows = counted(*(logged(weight=10 / 3) for _ in range(6)))
    assert stats("path", rows) == {("/", False): 20}


def test_only_the_busiest_keys_have_rows_of_their_own(monkeypatch):
    monkeypatch.setattr(tally, "MOST_KEYS", 2)
    paths = ["/a", "/a", "/a", "/b", "/b", "/c", "/d"]
    rows = counted(*(logged(path=path) for path in paths), logged(path="/e", is_bot=True, duration_ms=77))
    assert stats("path", rows) == {("/a", False): 3, ("/b", False): 2, ("…", False): 2, ("…", True): 1}


def test_the_rest_is_added_up_by_the_database(monkeypatch):
    monkeypatch.setattr(tally, "MOST_KEYS", 2)
    log(*(logged(path=f"/{number % 9}") for number in range(20)))
    found = list(counting._of_busiest(AccessLog.objects.order_by(), Exact("path")))
    assert [(path, hits) for path, _is_bot, _class, hits, *_ in sorted(found)] == [("/0", 3), ("/1", 3), ("…", 14)]


def test_keys_that_differ_in_their_capitals_alone_are_told_apart_among_the_busiest(monkeypatch):
    monkeypatch.setattr(tally, "MOST_KEYS", 2)
    rows = counted(*(logged(path=path) for path in ["/a", "/a", "/A", "/A", "/á", "/Á"]))
    assert stats("path", rows) == {("/a", False): 2, ("/A", False): 2, ("…", False): 2}


def test_who_has_no_address_can_be_among_the_busiest(monkeypatch):
    monkeypatch.setattr(tally, "MOST_KEYS", 1)
    assert stats("ip", counted(logged(ip=None), logged(ip=None), logged())) == {("", False): 2, ("…", False): 1}


def test_the_pages_of_a_site_are_one_referrer_among_the_busiest(monkeypatch):
    monkeypatch.setattr(tally, "MOST_KEYS", 1)
    pages = [logged(referer=f"https://www.baidu.com/{number}") for number in range(3)]
    rows = counted(*pages, *(logged(referer="https://example.org/") for _ in range(2)))
    assert stats("referer", rows) == {("baidu.com", False): 3, ("…", False): 2}


def visitors(*rows):
    return {row.is_bot: distinct(row.visitors).number for row in counted(*rows) if row.dimension == "all"}


def test_visitors_are_read_page_by_page(monkeypatch):
    monkeypatch.setattr(counting, "VISITORS_AT_ONCE", 3)
    ips = [None, *(f"49.65.250.{number}" for number in range(1, 7)), "2400:3200::1", "8.8.8.8"]
    assert visitors(*(logged(ip=ip) for ip in ips * 2), logged(is_bot=True)) == {False: 8, True: 1}


def test_where_addresses_are_cut_to_networks_visitors_are_told_apart_all_the_same(configure):
    configure(IP_STORAGE="truncate")
    three = [logged(ip="49.65.250.0", visitor=visitor) for visitor in ("aa", "bb", "cc", "cc")]
    assert visitors(*three, logged(ip=None)) == {False: 3}


def test_a_bot_and_a_person_at_the_same_key_are_two_rows():
    assert stats("ip", counted(logged(), logged(is_bot=True))) == {
        ("49.65.250.135", False): 1,
        ("49.65.250.135", True): 1,
    }


def test_an_hour_is_read_in_a_fixed_number_of_queries(django_assert_num_queries):
    log(*(logged(n, path=f"/{n}", ip=f"49.65.{n}.1") for n in range(50)))
    with django_assert_num_queries(11):
        count(HOUR)


# CASES I10: addresses the geo database does not know


@pytest.mark.parametrize(
    ("ip", "state", "country"),
    [("10.1.2.3", "reserved", "-"), ("203.0.112.1", "unknown", ""), ("203.0.112.1", "pending", ""), (None, None, "")],
)
def test_requests_from_nowhere_are_counted_all_the_same(ip, state, country):
    if ip:
        located(logged(ip=ip).prefix, state=state, country_code="", country="", province="")
    assert stats("country", counted(logged(ip=ip))) == {(country, False): 1}


# From stale to counted


def test_stored_counts_replace_those_before():
    log(logged(path="/a"))
    StaleHour.objects.create(hour=HOUR)
    assert count_stale_hours() == 1
    log(logged(path="/b"))
    AccessLog.objects.filter(path="/a").delete()
    StaleHour.objects.create(hour=HOUR)
    assert count_stale_hours() == 1
    assert stats("path") == {("/b", False): 1}


def test_other_hours_keep_their_counts():
    later = HOUR + datetime.timedelta(hours=1)
    log(logged(), logged(hour=later))
    StaleHour.objects.bulk_create([StaleHour(hour=HOUR), StaleHour(hour=later)])
    assert count_stale_hours() == 2
    StaleHour.objects.create(hour=HOUR)
    count_stale_hours()
    assert sorted(HourlyStat.objects.filter(dimension="all").values_list("hour", "hits")) == [(HOUR, 1), (later, 1)]


def test_an_hour_is_counted_once_for_all_its_marks(monkeypatch):
    StaleHour.objects.bulk_create([StaleHour(hour=HOUR) for _ in range(5)])
    assert count_stale_hours() == 1
    assert not StaleHour.objects.exists()


def test_with_nothing_to_do_there_is_one_query(django_assert_num_queries):
    with django_assert_num_queries(1):
        assert count_stale_hours() == 0


def test_what_comes_while_an_hour_is_counted_is_counted_next_time():
    mark = StaleHour.objects.create(hour=HOUR)
    rows = count(HOUR)
    log(logged())
    StaleHour.objects.create(hour=HOUR)
    assert counting.store(HOUR, rows, [mark.pk])
    assert count_stale_hours() == 1
    assert stats("all") == {("", False): 1}


def test_of_two_workers_that_count_an_hour_at_once_the_later_count_stays():
    log(logged(path="/a"))
    first = StaleHour.objects.create(hour=HOUR)
    old = count(HOUR)
    log(logged(path="/b"))
    second = StaleHour.objects.create(hour=HOUR)
    new = count(HOUR)
    assert counting.store(HOUR, new, [first.pk, second.pk])
    assert not counting.store(HOUR, old, [first.pk])
    assert stats("path") == {("/a", False): 1, ("/b", False): 1}


def test_a_worker_that_lost_one_of_its_marks_stores_nothing_and_leaves_the_others():
    log(logged())
    first = StaleHour.objects.create(hour=HOUR)
    second = StaleHour.objects.create(hour=HOUR)
    assert counting.store(HOUR, count(HOUR), [first.pk])
    assert not counting.store(HOUR, count(HOUR), [first.pk, second.pk])
    assert list(StaleHour.objects.all()) == [second]
    assert stats("all") == {("", False): 1}


def test_the_latest_hours_come_first_also_those_that_become_stale_meanwhile(monkeypatch):
    order = []

    def count_and_go_on(hour):
        order.append((HOUR - hour) // datetime.timedelta(hours=1))
        if len(order) == 1:
            StaleHour.objects.create(hour=HOUR)
        return []

    monkeypatch.setattr(counting_tasks, "HOURS_AT_ONCE", 2)
    monkeypatch.setattr(counting_tasks, "count", count_and_go_on)
    StaleHour.objects.bulk_create([StaleHour(hour=HOUR - datetime.timedelta(hours=number)) for number in range(5)])
    assert count_stale_hours() == 6
    assert order == [0, 1, 0, 2, 3, 4]


class Stopping:
    should_stop = True


def test_a_worker_that_is_to_stop_leaves_the_hours_to_the_next():
    StaleHour.objects.create(hour=HOUR)
    assert count_hours.func(Stopping()) == 0
    assert StaleHour.objects.exists()
