"""How many requests were not logged is told to the database, by whichever process and for whichever reason."""

import datetime

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from django_locqueue.accesslog import middleware
from django_locqueue.accesslog import recorder as module
from django_locqueue.accesslog.losses import lost_since, record_loss
from django_locqueue.accesslog.models import Loss
from django_locqueue.accesslog.outbox import Counts, LossReport
from django_locqueue.accesslog.retention import prune
from tests.accesslog.conftest import a_raw_hit
from tests.accesslog.recording import Queue, record
from tests.processes import wait_until
from tests.store.plans import plans

LONG = 3600


@pytest.fixture
def counts():
    return Counts()


@pytest.fixture
def reports():
    return []


@pytest.fixture
def report(counts, reports):
    """Return a function that sends what was lost; its reports are in ``reports``."""
    losses = LossReport(counts)

    def take(**loss):
        reports.append(loss)

    return lambda send=take: losses.send(send)


def numbers(loss):
    return loss["dropped"], loss["refused"], loss["errors"]


def test_nothing_lost_is_nothing_told(report, reports):
    assert report()
    assert reports == []


def test_what_was_lost_is_told_once(report, reports, counts):
    counts.dropped, counts.refused, counts.errors = 3, 2, 1
    assert report()
    assert report()
    assert [numbers(loss) for loss in reports] == [(3, 2, 1)]


def test_then_only_what_is_new(report, reports, counts):
    counts.dropped = 3
    report()
    counts.dropped = 5
    report()
    assert [numbers(loss) for loss in reports] == [(3, 0, 0), (2, 0, 0)]
    assert reports[0]["loss_id"] != reports[1]["loss_id"]


def test_a_report_that_failed_is_sent_again_as_it_was(report, reports, counts):
    """It may have reached the database before the connection broke; its id tells."""
    counts.dropped = 3
    tried = []

    def fail(**loss):
        tried.append(loss)
        raise OperationalError("the connection broke")

    assert not report(fail)
    counts.dropped = 5
    assert report()
    assert reports == tried
    report()
    assert [numbers(loss) for loss in reports] == [(3, 0, 0), (2, 0, 0)]


def test_a_report_that_the_queue_would_never_take_is_not_tried_for_ever(report, reports, counts):
    def refuse(**loss):
        raise TypeError("no")

    counts.dropped = 3
    assert report(refuse)
    assert report()
    assert reports == []


def test_a_recorder_that_dropped_hits_says_so_when_the_queue_is_back(fast_recorder):
    queue, told = Queue(), []
    recorder = fast_recorder(queue.send, lambda **loss: told.append(loss), INTERVAL=LONG, BUFFER_SIZE=2)
    recorder._outbox.outage = 1  # keeps the thread away
    record(recorder, "/a", "/b", "/c")
    assert recorder.drain(30)
    wait_until(lambda: told)
    assert [numbers(loss) for loss in told] == [(1, 0, 0)]


@pytest.fixture
def told(fast_recorder):
    """A recorder, and what it told the database."""
    losses = []
    return fast_recorder(Queue().send, lambda **loss: losses.append(loss)), losses


def test_where_every_request_fails_that_is_told_though_there_is_nothing_to_send(told):
    recorder, losses = told
    recorder.note_error()
    wait_until(lambda: losses)
    assert numbers(losses[0]) == (0, 0, 1)


def test_what_the_queue_refuses_in_the_request_is_told_too(told):
    recorder, losses = told
    recorder.record_now(a_raw_hit("/bad"))
    wait_until(lambda: losses)
    assert numbers(losses[0]) == (0, 1, 0)


@pytest.mark.parametrize("key", ["BATCH", "INTERVAL"])
def test_settings_that_cannot_be_used_are_told_too(configure, told, monkeypatch, key):
    recorder, losses = told
    monkeypatch.setattr(middleware, "recorder", recorder)
    monkeypatch.setattr(module, "LONGEST_BACKOFF_SECONDS", 0.01)
    configure(**{key: "many"})
    assert Client().get("/page/").status_code == 200
    wait_until(lambda: losses)
    assert numbers(losses[0]) == (0, 0, 1)
    assert recorder._thread.is_alive()
    configure()  # for its end


# In the database


def a_loss(number, **fields):
    values = {"loss_id": f"{number:032}", "time": timezone.now().timestamp(), "dropped": 0, "refused": 0, "errors": 0}
    return {**values, **fields}


def test_a_report_that_is_stored_twice_counts_once(db):
    loss = a_loss(1, dropped=1204)
    record_loss.func(**loss)
    record_loss.func(**loss)
    assert lost_since(timezone.now() - datetime.timedelta(hours=1)) == (1204, 0)


def test_all_reasons_of_all_processes_are_summed(db):
    record_loss.func(**a_loss(1, dropped=1000, refused=200))
    record_loss.func(**a_loss(2, dropped=204, refused=1, errors=3))
    assert lost_since(timezone.now() - datetime.timedelta(hours=1)) == (1204, 204)


def test_what_was_lost_before_is_not_counted(db, django_assert_num_queries):
    two_hours_ago = timezone.now() - datetime.timedelta(hours=2)
    record_loss.func(**a_loss(1, dropped=7, time=two_hours_ago.timestamp()))
    with django_assert_num_queries(1):
        assert lost_since(timezone.now() - datetime.timedelta(hours=1)) == (0, 0)
    assert lost_since(two_hours_ago - datetime.timedelta(seconds=1)) == (7, 0)


def test_without_time_zones_the_moment_is_local(db, settings):
    settings.USE_TZ = False
    record_loss.func(**a_loss(1, dropped=1, time=1_790_000_000.5))
    assert Loss.objects.get().time == datetime.datetime.fromtimestamp(1_790_000_000.5)  # noqa: DTZ006


def test_old_reports_are_deleted_with_the_counts(db):
    for number, days in enumerate((1, 300, 800)):
        then = timezone.now() - datetime.timedelta(days=days)
        record_loss.func(**a_loss(number, dropped=1, time=then.timestamp()))
    assert prune()["counts"] == 1
    assert Loss.objects.count() == 2


@pytest.mark.skipif(connection.vendor == "mysql", reason="explains otherwise")
def test_a_page_reads_the_reports_of_its_day_only(db):
    now = timezone.now()
    Loss.objects.bulk_create(
        Loss(loss_id=str(n), time=now - datetime.timedelta(hours=n), dropped=1, refused=0, errors=0)
        for n in range(4000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    [plan] = plans(lambda: lost_since(now - datetime.timedelta(hours=24)))
    assert "locqueue_accesslog_loss_time" in plan
    assert "Seq Scan" not in plan
    assert "SCAN" not in plan
