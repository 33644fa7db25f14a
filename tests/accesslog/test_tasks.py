"""From a request to a row with a place."""

import datetime
import json

import pytest
from django.contrib.auth import get_user_model
from django.db import DatabaseError, connection
from django.test import AsyncClient, Client
from django.utils import timezone

from django_locqueue import QueueFull
from django_locqueue.accesslog import recorder, storage, tasks
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.prefix import first_address, network_prefix
from django_locqueue.accesslog.tasks import locate, record_hits
from tests.accesslog.conftest import a_hit
from tests.accesslog.xdb_builder import build_xdb

pytestmark = pytest.mark.django_db


@pytest.fixture
def client():
    return Client(raise_request_exception=False)


@pytest.fixture
def xdb(tmp_path, configure):
    rows = [("49.65.250.0", "49.65.250.255", "中国|0|江苏省|南京市|电信")]
    configure(GEO={"PROVIDERS": ["reserved", "xdb"], "XDB_V4": build_xdb(tmp_path / "x.xdb", 2, 4, rows)})


def run(*hits):
    """What a worker does: the arguments went through JSON."""
    return record_hits.func(json.loads(json.dumps([hit if isinstance(hit, list) else hit.to_json() for hit in hits])))


def test_a_request_ends_as_a_row_with_a_place(client, stored, tmp_path):
    rows = [("49.65.250.0", "49.65.250.255", "中国|0|江苏省|南京市|电信")]
    stored(
        TRUSTED_PROXIES=["127.0.0.1"],
        GEO={"PROVIDERS": ["xdb"], "XDB_V4": build_xdb(tmp_path / "x.xdb", 2, 4, rows)},
    )
    client.get("/page/", HTTP_X_FORWARDED_FOR="49.65.250.135")
    row = AccessLog.objects.select_related("location").get()
    assert (row.ip, row.prefix, row.path, row.action) == ("49.65.250.135", "49.65.250.0/24", "/page/", "page")
    assert row.location is not None
    assert row.location.text == "中国 · 江苏 · 南京"
    assert row.location.precision == "city"


@pytest.mark.django_db(transaction=True)
async def test_a_request_on_an_event_loop_ends_as_a_row(committed, stored):
    await AsyncClient().get("/async/")
    assert await AccessLog.objects.acount() == 1


def test_the_moment_is_that_of_the_request(xdb):
    run(a_hit(time=1_790_000_000.5))
    moment = AccessLog.objects.get().time
    assert moment.timestamp() == 1_790_000_000.5


def test_without_time_zones_the_moment_is_local(xdb, site):
    site.USE_TZ = False
    assert storage.to_row(a_hit(time=1_790_000_000.5)).time == datetime.datetime.fromtimestamp(1_790_000_000.5)  # noqa: DTZ006


def test_a_batch_that_runs_twice_is_stored_once(xdb):
    run(a_hit())
    run(a_hit())
    assert AccessLog.objects.count() == 1


def test_a_network_is_located_once_for_all_its_addresses(xdb, monkeypatch):
    located = []
    monkeypatch.setattr(
        tasks, "locate", type("Located", (), {"enqueue_many": staticmethod(lambda calls: located.extend(calls))})
    )
    run(a_hit(id="a", ip="49.65.250.1"), a_hit(id="b", ip="49.65.250.2"), a_hit(id="c", ip=None))
    run(a_hit(id="d", ip="49.65.250.3"))
    assert located == [(("49.65.250.0/24",), {})]
    assert Location.objects.get().state == "pending"


# Lookups that got lost


@pytest.fixture
def requested(monkeypatch):
    """The networks whose lookup was enqueued."""
    kept = []

    class Locate:
        @staticmethod
        def enqueue_many(calls):
            kept.extend(args[0] for args, _ in calls)

    monkeypatch.setattr(tasks, "locate", Locate)
    return kept


def location(state, minutes):
    """A network that was seen so many minutes ago."""
    seen = timezone.now() - datetime.timedelta(minutes=minutes)
    return Location.objects.create(prefix="49.65.250.0/24", state=state, requested_at=seen)


def test_a_network_that_is_pending_for_an_hour_is_requested_again_once_an_hour(xdb, requested):
    location("pending", 61)
    run(a_hit(id="a"))
    run(a_hit(id="b"))
    assert requested == ["49.65.250.0/24"]
    Location.objects.update(requested_at=timezone.now() - datetime.timedelta(minutes=61))
    run(a_hit(id="c"))
    assert requested == ["49.65.250.0/24"] * 2


def test_an_unknown_network_is_requested_again_once_a_day(xdb, requested):
    location("unknown", 1441)
    run(a_hit(id="a"))
    run(a_hit(id="b"))
    assert requested == ["49.65.250.0/24"]
    assert locate.func("49.65.250.0/24") == "located"


@pytest.mark.parametrize(
    ("state", "minutes"), [("pending", 59), ("located", 9999), ("unknown", 1439), ("reserved", 9999)]
)
def test_a_network_that_waits_or_is_settled_is_not_requested_again(xdb, requested, state, minutes):
    location(state, minutes)
    run(a_hit())
    assert requested == []


@pytest.mark.parametrize("kind", ["new", "overdue"])
def test_of_two_batches_at_once_one_requests_the_network(xdb, requested, kind):
    """The other one was faster, just before this one writes."""
    if kind == "overdue":
        location("pending", 61)
    others = []

    def other_writes_first(execute, sql, params, many, context):
        if not others and "location" in sql and sql.startswith("INSERT" if kind == "new" else "UPDATE"):
            others.append(sql)
            if kind == "new":
                location("pending", 0)
            else:
                Location.objects.update(requested_at=timezone.now())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(other_writes_first):
        run(a_hit())
    assert len(others) == 1
    assert requested == []


def test_where_the_queue_is_full_the_hits_are_kept_and_the_next_asks_for_their_network_again(xdb, monkeypatch):
    def refuse(calls):
        raise QueueFull("default", 1, 1, len(calls))

    with monkeypatch.context() as full:
        full.setattr(tasks, "locate", type("Full", (), {"enqueue_many": staticmethod(refuse)}))
        assert run(a_hit(id="a", ip="49.65.250.1")) == {"stored": 1, "bad": 0, "networks": 0}
    assert AccessLog.objects.count() == 1
    assert run(a_hit(id="b", ip="49.65.250.2"))["networks"] == 1
    assert run(a_hit(id="c", ip="49.65.250.3"))["networks"] == 0


def test_storing_a_batch_takes_as_many_queries_as_storing_one(xdb, django_assert_num_queries):
    run(a_hit(id="first"))
    # Savepoint, its inner one, INSERT, release, the mark of the hour, SELECT of prefixes, release.
    with django_assert_num_queries(7):
        run(*(a_hit(id=f"{n}") for n in range(20)))


def test_locating_is_one_statement_and_a_look_for_visits_to_be_counted_again(xdb, django_assert_num_queries):
    Location.objects.create(prefix="49.65.250.0/24")
    with django_assert_num_queries(2):
        locate.func("49.65.250.0/24")
    assert Location.objects.get().state == "located"


def test_a_location_that_is_not_there_yet_is_made(xdb):
    assert locate.func("49.65.250.0/24") == "located"
    assert Location.objects.get().city == "南京"


@pytest.mark.parametrize(
    ("prefix", "state", "text"),
    [
        ("9.9.9.0/24", "unknown", "Unknown"),
        ("2400:3200::/48", "unknown", "Unknown"),
        ("127.0.0.0/24", "reserved", "This computer"),
        ("10.1.2.0/24", "reserved", "Private network"),
        ("::/48", "reserved", "This computer"),
        ("100.64.0.0/24", "reserved", "Carrier-grade NAT"),
    ],
)
def test_i10_an_unknown_or_reserved_network_is_an_answer(xdb, prefix, state, text):
    assert locate.func(prefix) == state
    location = Location.objects.get()
    assert location.text == text
    assert location.resolved_at is not None


def test_i10_a_damaged_file_fails_no_task(configure, tmp_path, caplog):
    (tmp_path / "x.xdb").write_bytes(b"junk")
    configure(GEO={"PROVIDERS": ["xdb", "iptocc"], "XDB_V4": tmp_path / "x.xdb"})
    locate.func("8.8.8.0/24")
    assert Location.objects.get().country_code == "US"


def test_a_pending_location_says_so():
    assert Location(prefix="8.8.8.0/24").text == "Not looked up yet"


def test_a_city_that_is_its_province_is_said_once():
    place = Location(prefix="8.8.8.0/24", state="located", country="中国", province="北京", city="北京")
    assert place.text == "中国 · 北京"


@pytest.mark.parametrize(
    ("ip", "prefix"),
    [("49.65.250.135", "49.65.250.0/24"), ("2400:3200:1:2::1", "2400:3200:1::/48"), ("::1", "::/48")],
)
def test_a_prefix_stands_for_its_neighbours(ip, prefix):
    assert network_prefix(ip, 24, 48) == prefix
    assert first_address(prefix) in __import__("ipaddress").ip_network(prefix)


# Odd hits


@pytest.mark.parametrize(
    "bad",
    [
        None,
        ["too", "short"],
        a_hit(ip="no address").to_json(),
        [*a_hit().to_json()[:1], "yesterday", *a_hit().to_json()[2:]],
        a_hit(time=1e300).to_json(),
        a_hit(status="ok").to_json(),
    ],
    ids=["nothing", "short", "address", "time", "endless time", "status"],
)
def test_a_poison_hit_loses_only_itself(xdb, bad, caplog):
    good = [a_hit(id=f"{n}").to_json() for n in range(3)]
    result = record_hits.func([*good[:2], bad, good[2]])
    assert AccessLog.objects.count() == 3
    assert (result["stored"], result["bad"]) == (3, 1)
    assert "left out" in caplog.text


def test_a_row_that_cannot_be_stored_loses_only_itself(xdb, caplog):
    # Past cleaning: as if a newer version had sent it. Not a number too large, which MariaDB cuts in such an insert.
    result = run(a_hit(id="1"), a_hit(id="2", status="many"), a_hit(id="3"))
    assert result["bad"] == 1
    assert AccessLog.objects.count() == 2


def test_i2_i3_a_request_of_excess_is_stored_cut_and_cleaned(client, stored):
    response = client.generic(
        "GET",
        "/any/%00" + "x" * 8000,
        HTTP_USER_AGENT="a" * 10_000 + "\x00",
        HTTP_REFERER="r" * 10_000,
        HTTP_HOST="h" * 250,
    )
    assert response.status_code == 200
    row = AccessLog.objects.get()
    assert (len(row.path), len(row.user_agent), len(row.referer)) == (512, 255, 512)
    assert row.path.startswith("/any/\ufffdx")
    assert row.path.endswith("…")


def test_i1_a_garbage_address_is_stored_as_none_and_located_never(client, stored):
    client.get("/page/", REMOTE_ADDR="${jndi:ldap://x}")
    assert AccessLog.objects.get().ip is None
    assert not Location.objects.exists()


def test_a_user_who_was_deleted_since_fails_nothing(xdb):
    alice = get_user_model().objects.create(username="alice")
    key = alice.pk
    alice.delete()
    run(a_hit(user_id=key))
    assert AccessLog.objects.select_related("user").get().user is None


def test_deleting_a_user_keeps_the_log(xdb):
    alice = get_user_model().objects.create(username="alice")
    run(a_hit(user_id=alice.pk))
    alice.delete()
    assert AccessLog.objects.get().user_id is None


def test_a_user_id_of_another_user_model_is_none(xdb):
    run(a_hit(user_id="8c2f"))
    assert AccessLog.objects.get().user_id is None


@pytest.mark.parametrize(
    ("agent", "bot"),
    [
        ("", True),
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", True),
        ("curl/8.5.0", True),
        ("kube-probe/1.29", True),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0 Safari/537.36", False),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Mobile Safari/604.1", False),
        ("Mozilla/5.0 (Linux; Android 14; CUBOT X70) Chrome/126.0 Mobile Safari/537.36", False),
    ],
)
def test_bots_are_told_from_browsers(xdb, agent, bot):
    run(a_hit(user_agent=agent))
    assert AccessLog.objects.get().is_bot is bot


# Transactions


class BrokenQueue:
    @staticmethod
    def enqueue(hits):
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO no_such_table VALUES (1)")


def test_i8_a_failing_log_keeps_the_callers_transaction_usable(client, stored, monkeypatch):
    """The test itself is a transaction; on PostgreSQL a failed statement without a savepoint would end it."""
    monkeypatch.setattr(tasks, "record_hits", BrokenQueue)
    monkeypatch.setattr(recorder.Recorder, "record", lambda self, hit: None)
    assert client.get("/saves/").status_code == 201
    assert get_user_model().objects.filter(username="saved").exists()


def test_rows_networks_and_tasks_are_one_transaction(xdb, monkeypatch):
    class Broken:
        @staticmethod
        def enqueue_many(calls):
            raise DatabaseError("queue")

    monkeypatch.setattr(tasks, "locate", Broken)
    with pytest.raises(DatabaseError):
        run(a_hit())
    assert not AccessLog.objects.exists()
    assert not Location.objects.exists()
