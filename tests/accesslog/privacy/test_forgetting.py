"""Somebody is taken out of the log; the requests stay."""

import time

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from django_locqueue.accesslog import privacy, user_deletion
from django_locqueue.accesslog.analytics.stale import mark_stale
from django_locqueue.accesslog.analytics.tasks import count_stale_hours
from django_locqueue.accesslog.housekeeping import forget_users
from django_locqueue.accesslog.models import AccessLog, HourlyStat, VisitorKey
from django_locqueue.accesslog.privacy import forgetting
from django_locqueue.accesslog.privacy.pseudonym import pseudonym
from django_locqueue.accesslog.privacy.visitor_keys import day_of
from django_locqueue.accesslog.storage import to_row
from django_locqueue.models import Task
from django_locqueue.testing import run_tasks
from tests.accesslog.conftest import a_hit
from tests.store.plans import plans

pytestmark = pytest.mark.django_db

IP = "49.65.250.135"


def row(number=0, **fields):
    saved = to_row(a_hit(**{"id": str(number), "ip": IP, "user_id": 7, "visitor": "v", **fields}))
    saved.save()
    return saved


def known(saved):
    saved.refresh_from_db()
    return saved.user_id, saved.ip, saved.user_agent, saved.visitor


NOBODY = (None, None, "", "")


def test_a_user_is_forgotten():
    mine, other = row(1), row(2, user_id=8)
    assert privacy.forget(user=7) == 1
    assert known(mine) == NOBODY
    assert known(other) == (8, IP, "Mozilla/5.0", "v")


def test_the_request_and_its_network_stay():
    mine = row()
    privacy.forget(user=7)
    mine.refresh_from_db()
    assert (mine.path, mine.status, mine.prefix) == ("/", 200, "49.65.250.0/24")


def test_an_address_is_forgotten():
    mine, neighbour = row(1), row(2, ip="49.65.250.136")
    assert privacy.forget(ip=IP) == 1
    assert known(mine) == NOBODY
    assert known(neighbour)[1] == "49.65.250.136"


@pytest.mark.parametrize("spelling", ["::ffff:49.65.250.135", IP])
def test_in_any_spelling(spelling):
    row()
    assert privacy.forget(ip=spelling) == 1


def test_an_address_is_found_whatever_networks_were_when_it_was_stored(configure):
    for number, bits in enumerate((8, 16, 31, 32)):
        configure(PREFIX_V4=bits)
        row(number)
    configure()
    assert privacy.forget(ip=IP) == 4


def test_a_network_that_is_nearly_the_address_is_forgotten_with_it(configure):
    configure(PREFIX_V4=31)
    mine = row()
    privacy.forget(user=7)
    mine.refresh_from_db()
    assert mine.prefix is None


def test_a_hashed_address_is_found_as_long_as_its_key_is_there():
    key = VisitorKey.objects.create(day=day_of(0), key=b"k" * 32)
    row(ip=pseudonym(IP, key.key))
    assert privacy.forget(ip=IP) == 1


def test_all_are_forgotten_however_many(monkeypatch):
    monkeypatch.setattr(forgetting, "BATCH", 3)
    for number in range(8):
        row(number)
    assert privacy.forget(user=get_user_model()(pk=7)) == 8
    assert not AccessLog.objects.filter(ip=IP).exists()


def test_the_counts_forget_the_address_too():
    row()
    mark_stale([AccessLog.objects.get().time])
    count_stale_hours()
    counts = HourlyStat.objects.filter(dimension="ip")
    assert [stat.key for stat in counts] == [IP]
    privacy.forget(user=7)
    count_stale_hours()
    assert [stat.key for stat in counts.all()] == [""]


@pytest.mark.parametrize("given", [{}, {"user": 7, "ip": IP}])
def test_one_thing_is_asked_for(given):
    with pytest.raises(TypeError, match="either user or ip"):
        privacy.forget(**given)


@pytest.mark.parametrize("ip", ["", "alice", "49.65.250.0/24", "999.1.1.1"])
def test_what_is_no_address_is_refused(ip):
    with pytest.raises(ValueError, match=r"no IP address. Write one such as 203.0.113.9"):
        privacy.forget(ip=ip)


@pytest.mark.skipif(connection.vendor == "mysql", reason="explains otherwise")
@pytest.mark.parametrize("who", [{"user": 7}, {"ip": IP}])
def test_nobody_is_looked_for_in_the_whole_log(who):
    AccessLog.objects.bulk_create(to_row(a_hit(id=str(n), ip=f"10.0.{n % 250}.1", user_id=n)) for n in range(1_000))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        if connection.vendor == "postgresql":  # it reads a table of this size sooner than two dozen places of an index
            cursor.execute("SET LOCAL enable_seqscan = off")
    for plan in plans(lambda: privacy.forget(**who)):
        assert "Seq Scan on locqueue_accesslog_accesslog" not in plan
        assert "SCAN locqueue_accesslog_accesslog" not in plan


# Users who are deleted


@pytest.fixture
def alice():
    return get_user_model().objects.create(username="alice")


def waiting():
    return [task.args_kwargs["args"] for task in Task.objects.filter(task_path=forget_users.module_path).order_by("id")]


def test_deleting_a_user_enqueues_that_the_log_forgets_them(alice):
    key = alice.pk
    alice.delete()
    assert waiting() == [[[key]]]


@pytest.fixture
def crowd():
    """Fifty users, and the rows of two of them."""
    get_user_model().objects.bulk_create(get_user_model()(username=f"user {n}") for n in range(50))
    users = list(get_user_model().objects.order_by("pk"))
    return users, [row(n, user_id=users[n].pk) for n in range(2)]


def test_users_who_are_deleted_together_are_one_task(crowd):
    users, _ = crowd
    get_user_model().objects.order_by("pk").delete()
    assert waiting() == [[[user.pk for user in users]]]


def test_and_cost_the_log_as_much_as_one(crowd):
    _, rows = crowd
    with CaptureQueriesContext(connection) as queries:
        get_user_model().objects.all().delete()
    assert len([query for query in queries if "locqueue" in query["sql"]]) < 10
    assert [known(each) for each in rows] == [NOBODY] * 2


def test_thousands_are_some_tasks(crowd, monkeypatch):
    monkeypatch.setattr(user_deletion, "CHUNK", 20)
    get_user_model().objects.all().delete()
    assert [len(keys) for [keys] in waiting()] == [20, 20, 10]


def test_with_a_user_their_rows_are_forgotten(alice):
    mine = row(user_id=alice.pk)
    alice.delete()
    assert known(mine) == NOBODY


def test_however_many_they_are_whoever_deletes_the_user_waits_for_a_batch_only(alice, monkeypatch):
    monkeypatch.setattr(forgetting, "BATCH", 3)
    for number in range(8):
        row(number, user_id=alice.pk)
    key = alice.pk
    alice.delete()
    assert AccessLog.objects.filter(user_id=key).count() == 5
    run_tasks()
    assert not AccessLog.objects.filter(user_id=key).exists()


def test_a_proxy_of_the_user_model_is_one_too(alice):
    class Customer(User):
        class Meta:
            proxy = True
            app_label = "auth"

    user_deletion.connect()
    Customer.objects.get(pk=alice.pk).delete()
    assert len(waiting()) == 1


def test_a_deletion_that_is_rolled_back_forgets_nobody(alice):
    with transaction.atomic():
        get_user_model().objects.get().delete()
        transaction.set_rollback(True)
    assert waiting() == []


def test_a_queue_that_is_full_does_not_keep_a_user_from_being_deleted(alice, monkeypatch, caplog):
    def full(*_args, **_kwargs):
        connection.cursor().execute("SELECT 1 FROM nowhere")

    monkeypatch.setattr(type(forget_users), "enqueue_many", full)
    with transaction.atomic():
        key = alice.pk
        alice.delete()
        assert not get_user_model().objects.exists()
    assert f"accesslog forget --user-id {key}" in caplog.text


@pytest.fixture
def last_look():
    """Return a function that forgets user 7 a second time, as a task does that the first time enqueued."""
    forget_users.func([7])
    [task] = Task.objects.filter(task_path=forget_users.module_path)
    assert task.state == "scheduled"
    return lambda: forget_users.func(*task.args_kwargs["args"], **task.args_kwargs["kwargs"])


def test_what_the_user_had_just_requested_is_forgotten_later(last_look):
    late = row(time=time.time() - 60)
    last_look()
    assert known(late) == NOBODY
    assert len(waiting()) == 1


def test_who_has_the_key_of_one_who_is_gone_is_not_forgotten(last_look):
    new = row(time=time.time() + 1)
    last_look()
    assert known(new)[0] == 7
