"""Networks get their places: new ones, those that are asked for again, and all when there are other data."""

import datetime
import ipaddress

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_locqueue import QueueFull
from django_locqueue.accesslog import locating
from django_locqueue.accesslog.locating import locate, relocate, request_locating
from django_locqueue.accesslog.models import AccessLog, Location, StaleHour
from django_locqueue.accesslog.prefix import first_address, network_prefix
from django_locqueue.accesslog.tasks import record_hits
from django_locqueue.models import Task
from django_locqueue.testing import run_tasks
from tests.accesslog.analytics.rows import HOUR, log, logged
from tests.accesslog.conftest import a_hit
from tests.accesslog.lookups import NANJING, location, waiting
from tests.accesslog.services import told

pytestmark = pytest.mark.django_db


def run(*hits):
    return record_hits.func([hit.to_json() for hit in hits])


# Asked for


def test_a_network_is_located_once_for_all_its_addresses(xdb):
    run(a_hit(id="a", ip="49.65.250.1"), a_hit(id="b", ip="49.65.250.2"), a_hit(id="c", ip=None))
    run(a_hit(id="d", ip="49.65.250.3"))
    assert waiting() == [[[NANJING]]]
    assert Location.objects.get().state == "pending"


def test_the_networks_of_a_batch_are_one_task(xdb):
    run(*(a_hit(id=f"{n}", ip=f"49.65.{n}.1") for n in range(20)))
    [[prefixes]] = waiting()
    assert len(prefixes) == 20


def test_many_networks_are_several_tasks(xdb, monkeypatch):
    monkeypatch.setattr(locating, "NETWORKS", 2)
    assert request_locating([f"49.65.{n}.0/24" for n in range(5)]) == 5
    assert [len(prefixes) for [prefixes] in waiting()] == [2, 2, 1]


def test_a_network_is_in_one_waiting_task_only(xdb):
    locate.enqueue([NANJING, "8.8.8.0/24"])
    locate.enqueue([NANJING, "9.9.9.0/24"])
    assert waiting() == [[[NANJING, "8.8.8.0/24"]], [["9.9.9.0/24"]]]


@pytest.mark.parametrize("state", ["pending", "failed"])
def test_a_lookup_that_came_to_nothing_is_asked_for_again_an_hour_later(xdb, state):
    location(state, minutes=61)
    run(a_hit(id="a"))
    assert waiting() == [[[NANJING]]]
    Task.objects.all().delete()
    run(a_hit(id="b"))
    assert waiting() == []
    Location.objects.update(requested_at=timezone.now() - datetime.timedelta(minutes=61))
    run(a_hit(id="c"))
    assert waiting() == [[[NANJING]]]


def test_an_unknown_network_is_asked_for_again_a_day_later(xdb):
    location("unknown", minutes=1441)
    run(a_hit(id="a"))
    run(a_hit(id="b"))
    assert waiting() == [[[NANJING]]]
    run_tasks()
    assert Location.objects.get().state == "located"


def test_how_long_an_unknown_network_stays_so_is_a_setting(xdb, settings):
    location("unknown", minutes=61)
    settings.LOCQUEUE = {"ACCESS_LOG": {"GEO": {"NEGATIVE_HOURS": 1}}}
    assert request_locating([NANJING]) == 1


def test_what_a_service_said_is_asked_for_again_after_its_days(xdb, settings):
    settings.LOCQUEUE = {"ACCESS_LOG": {"GEO": {"PROVIDERS": [told()], "CACHE_DAYS": 2}}}
    location("located", minutes=2 * 1440 + 1, provider="told")
    location("located", minutes=2 * 1440 - 1, provider="told", prefix="8.8.8.0/24")
    assert request_locating([NANJING, "8.8.8.0/24"]) == 1
    assert waiting() == [[[NANJING]]]


@pytest.mark.parametrize(
    ("state", "minutes"), [("pending", 59), ("failed", 59), ("located", 99999), ("unknown", 1439), ("reserved", 99999)]
)
def test_a_network_that_waits_or_is_settled_is_not_asked_for_again(xdb, state, minutes):
    location(state, minutes, provider="xdb")
    run(a_hit())
    assert waiting() == []


@pytest.mark.parametrize("kind", ["new", "overdue"])
def test_of_two_batches_at_once_one_asks_for_the_network(xdb, kind):
    """The other one was faster, just before this one writes."""
    if kind == "overdue":
        location(minutes=61)
    others = []

    def other_writes_first(execute, sql, params, many, context):
        if not others and "accesslog_location" in sql and sql.startswith("INSERT" if kind == "new" else "UPDATE"):
            others.append(sql)
            if kind == "new":
                location()
            else:
                Location.objects.update(requested_at=timezone.now())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(other_writes_first):
        run(a_hit())
    assert len(others) == 1
    assert waiting() == []


def test_where_the_queue_is_full_the_hits_are_kept_and_the_next_asks_for_their_network_again(xdb, monkeypatch):
    def refuse(calls):
        raise QueueFull("default", 1, 1, len(calls))

    with monkeypatch.context() as full:
        full.setattr(locating, "locate", type("Full", (), {"enqueue_many": staticmethod(refuse)}))
        assert run(a_hit(id="a", ip="49.65.250.1")) == {"stored": 1, "bad": 0, "networks": 0}
    assert AccessLog.objects.count() == 1
    assert run(a_hit(id="b", ip="49.65.250.2"))["networks"] == 1
    assert run(a_hit(id="c", ip="49.65.250.3"))["networks"] == 0


def test_rows_networks_and_tasks_are_one_transaction(xdb, monkeypatch):
    class Broken:
        @staticmethod
        def enqueue_many(calls):
            raise DatabaseError("queue")

    monkeypatch.setattr(locating, "locate", Broken)
    with pytest.raises(DatabaseError):
        run(a_hit())
    assert not AccessLog.objects.exists()
    assert not Location.objects.exists()


# Located


def test_a_network_gets_its_place_and_says_of_which_data_it_is(xdb):
    location()
    locate.func([NANJING])
    found = Location.objects.get()
    assert (found.state, found.text, found.isp, found.provider, found.precision) == (
        "located",
        "中国 · 江苏 · 南京",
        "电信",
        "xdb",
        "city",
    )
    assert found.data_version == "reserved, xdb 2026-01-01"


def test_a_location_that_is_not_there_yet_is_made(xdb):
    """The queue is in another database than the log, and was faster than the log's commit."""
    locate.func([NANJING])
    assert Location.objects.get().city == "南京"


def test_locating_many_networks_takes_as_many_queries_as_locating_one(xdb):
    def queries(prefixes):
        with CaptureQueriesContext(connection) as sent:
            locate.func(prefixes)
        return len(sent)

    assert queries([NANJING]) == queries([f"49.65.{n}.0/24" for n in range(251, 256)])


def test_of_a_network_that_is_located_the_hours_of_its_visits_are_counted_again(xdb):
    location()
    log(logged(5), logged(65), logged(5, ip="8.8.8.8"), logged(125, ip="49.65.251.1"))
    locate.func([NANJING])
    hours = [HOUR, HOUR + datetime.timedelta(hours=1)]
    assert sorted(StaleHour.objects.values_list("hour", flat=True)) == hours


def test_of_a_network_whose_place_is_as_before_nothing_is_counted_again(xdb):
    log(logged(5))
    locate.func([NANJING])
    StaleHour.objects.all().delete()
    locate.func([NANJING])
    assert not StaleHour.objects.exists()


@pytest.mark.parametrize(
    ("prefix", "state", "text"),
    [
        ("9.9.9.0/24", "unknown", "Unknown"),
        ("2400:3200::/48", "unknown", "Unknown"),
        ("127.0.0.0/24", "reserved", "This computer"),
        ("10.1.2.0/24", "reserved", "Private network"),
        ("::/48", "reserved", "This computer"),
        ("100.64.0.0/24", "reserved", "Carrier-grade NAT"),
        ("169.254.1.0/24", "reserved", "Link-local address"),
        ("2001:db8::/48", "reserved", "Address for documentation"),
        ("240.0.0.0/24", "reserved", "Reserved address"),
    ],
)
def test_i10_an_unknown_or_reserved_network_is_an_answer(xdb, prefix, state, text):
    locate.enqueue([prefix])
    assert [run.outcome for run in run_tasks()] == ["successful"]
    found = Location.objects.get()
    assert (found.state, found.text) == (state, text)
    assert found.resolved_at is not None


def test_i10_a_damaged_file_fails_no_task(configure, tmp_path, caplog):
    (tmp_path / "x.xdb").write_bytes(b"junk")
    configure(GEO={"PROVIDERS": ["xdb", "iptocc"], "XDB_V4": tmp_path / "x.xdb"})
    locate.func(["8.8.8.0/24"])
    found = Location.objects.get()
    assert (found.country_code, found.data_version) == ("US", "")


def test_a_row_that_is_no_network_holds_up_no_other(xdb):
    locate.func(["no network", NANJING])
    assert Location.objects.get().prefix == NANJING


def test_two_networks_that_begin_alike_have_the_same_place(xdb):
    locate.func([NANJING, "49.65.250.0/28"])
    assert list(Location.objects.values_list("city", flat=True)) == ["南京", "南京"]


def test_a_pending_location_says_so():
    assert Location(prefix="8.8.8.0/24").text == "Not looked up yet"


def test_a_city_that_is_its_province_is_said_once():
    place = Location(prefix="8.8.8.0/24", state="located", country="中国", province="北京", city="北京")
    assert place.text == "中国 · 北京"


@pytest.mark.parametrize(
    ("ip", "prefix"),
    [("49.65.250.135", NANJING), ("2400:3200:1:2::1", "2400:3200:1::/48"), ("::1", "::/48")],
)
def test_a_prefix_stands_for_its_neighbours(ip, prefix):
    assert network_prefix(ip, 24, 48) == prefix
    assert first_address(prefix) in ipaddress.ip_network(prefix)


# Again


def test_networks_are_located_again_in_the_background(xdb, monkeypatch):
    monkeypatch.setattr(locating, "NETWORKS", 2)
    for n in range(5):
        location("located", prefix=f"49.65.{n}.0/24", city="上海")
    assert relocate(Location.objects.filter(city="上海")) == 5
    assert len(waiting()) == 3
    run_tasks()
    assert set(Location.objects.values_list("state", flat=True)) == {"unknown"}


def test_what_is_located_again_keeps_its_place_until_then(xdb):
    location("located", city="上海")
    relocate(Location.objects.all())
    assert Location.objects.get().text == "上海"
    run_tasks()
    assert Location.objects.get().text == "中国 · 江苏 · 南京"
