"""From a request to a row with a place."""

import datetime
import json
import traceback

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import AsyncClient, Client

from django_locqueue.accesslog import recorder, storage, tasks
from django_locqueue.accesslog.models import AccessLog, Location, Loss
from django_locqueue.accesslog.tasks import record_hits
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


def test_storing_a_batch_takes_as_many_queries_as_storing_one(xdb, django_assert_num_queries):
    run(a_hit(id="first"))
    # Savepoint, its inner one, INSERT, release, INSERT of a stale hour, SELECT of prefixes, release.
    with django_assert_num_queries(7):
        run(*(a_hit(id=f"{n}") for n in range(20)))


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


def test_what_a_worker_leaves_out_is_counted_as_lost_once_however_often_it_runs(xdb):
    for _ in range(2):
        run(a_hit(id="1"), a_hit(id="2", status="many"), a_hit(id="3", status="many"))
    assert Loss.objects.get().refused == 2


def test_of_a_batch_of_which_nothing_can_be_stored_nothing_is_lost_yet(xdb, caplog):
    with pytest.raises(storage.NothingStored, match="2 of 2 logged requests could not be stored"):
        run(a_hit(id="1", status="many"), ["too", "short"])
    assert not Loss.objects.exists()
    assert not caplog.text  # the task's own error says it


@pytest.mark.parametrize(
    "bad", [{"status": "many"}, {"ip": "49.65.250.135x"}, {"time": 1e300}], ids=["row", "address", "time"]
)
def test_neither_log_nor_error_tells_an_address_of_what_cannot_be_stored(xdb, caplog, bad):
    hit = a_hit(id="bad")._replace(**bad)
    run(a_hit(id="good"), hit)
    with pytest.raises(storage.NothingStored) as failed:
        run(hit)
    told = caplog.text + "".join(traceback.format_exception(failed.value))
    assert "'bad' (" in caplog.text
    assert "49.65.250" not in told


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the others do not quote the row")
def test_nor_is_the_row_told_that_a_database_quotes(xdb, caplog):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE locqueue_accesslog_accesslog ADD CHECK (path <> '/bad')")
    run(a_hit(id="good"), a_hit("/bad", id="bad"))
    assert "'bad' (CheckViolation)" in caplog.text
    assert "49.65.250" not in caplog.text


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
    def enqueue(private_hits):
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO no_such_table VALUES (1)")


def test_i8_a_failing_log_keeps_the_callers_transaction_usable(client, stored, monkeypatch):
    """The test itself is a transaction; on PostgreSQL a failed statement without a savepoint would end it."""
    monkeypatch.setattr(tasks, "record_hits", BrokenQueue)
    monkeypatch.setattr(recorder.Recorder, "record", lambda self, hit: None)
    assert client.get("/saves/").status_code == 201
    assert get_user_model().objects.filter(username="saved").exists()
