"""One clock: the database's, in the form in which Django stores times there."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test import override_settings
from django.utils import timezone

from django_locqueue import clock
from django_locqueue.clock import DatabaseNow, storable
from django_locqueue.models import Task, Worker
from django_locqueue.observability import snapshot
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.rows import NOW, ago, claim_one, enqueue, later, outcome, owner_of, put, row

SOON = timedelta(seconds=5)  # the same machine; another connection, a busy CPU


def test_now_is_the_present(store: Store):
    assert abs(store.now() - datetime.now(UTC)) < SOON


def test_the_expression_equals_the_store_s_now(store: Store):
    put()
    before = store.now()
    assert before <= Task.objects.values_list(DatabaseNow(), flat=True).get() <= store.now()


def test_a_value_written_by_the_database_is_read_as_the_present(store: Store):
    pk = put()
    before = store.now()
    Task.objects.update(finished_at=DatabaseNow())
    assert before <= row(pk)["finished_at"] <= store.now()


def test_the_clock_does_not_stand_still_in_a_transaction(store: Store):
    first = store.now()
    while store.now() == first:
        pass
    assert store.now() > first


@pytest.mark.parametrize("microsecond", [0, 1000, 999_999])
def test_the_database_s_time_compares_with_stored_times(store: Store, microsecond: int):
    present = store.now()
    past = (present - timedelta(seconds=2)).replace(microsecond=microsecond)
    future = (present + timedelta(minutes=2)).replace(microsecond=microsecond)
    before, after = put(run_after=past), put(run_after=future)
    assert list(Task.objects.filter(run_after__lte=DatabaseNow()).values_list("pk", flat=True)) == [before]
    assert list(Task.objects.filter(run_after__gt=DatabaseNow()).values_list("pk", flat=True)) == [after]


def test_a_whole_second_by_the_database_equals_the_same_by_django(store: Store):
    """On SQLite times are text, and Django writes a whole second without its fraction."""
    for _ in range(40):
        put()
        Task.objects.filter(finished_at=None).update(finished_at=DatabaseNow())
    for pk, finished in Task.objects.values_list("pk", "finished_at"):
        assert Task.objects.filter(pk=pk, finished_at=finished, finished_at__lte=finished).exists()


def test_a_time_of_the_database_without_a_fraction_is_written_as_django_writes_it(store: Store):
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite compares times as text")
    sql = clock.now_sql(connection).replace("'now'", "'2026-01-02 03:04:05'").replace("%%", "%")
    assert connection.cursor().execute(f"SELECT {sql}").fetchone() == ("2026-01-02 03:04:05",)


@pytest.mark.parametrize("microsecond", [0, 1, 891_011])
def test_a_wait_is_added_exactly(store: Store, owner: Owner, microsecond: int):
    now = NOW.replace(microsecond=microsecond)
    pk = enqueue(store).id
    store.ack([(claim_one(store, owner), outcome(Kind.RETRIED, delay=0.25))], now=now)
    assert row(pk)["run_after"] == now + timedelta(seconds=0.25)


def test_a_wait_is_added_to_the_database_s_time(store: Store, owner: Owner):
    pk = enqueue(store).id
    store.ack([(claim_one(store, owner), outcome(Kind.RETRIED, delay=3600))])
    assert abs(row(pk)["run_after"] - store.now() - timedelta(hours=1)) < SOON
    assert Task.objects.filter(run_after__gt=F("enqueued_at") + timedelta(minutes=59)).exists()


# -- USE_TZ = False: the same behaviour, in zones far from UTC


@pytest.fixture(params=[(True, "Asia/Shanghai"), (False, "Asia/Shanghai"), (False, "America/Bogota"), (False, "UTC")])
def zone(request: pytest.FixtureRequest, db: None) -> Iterator[bool]:
    """Run with USE_TZ and TIME_ZONE of the project; give USE_TZ."""
    use_tz, name = request.param

    def forget() -> None:  # what Django's receiver of setting_changed leaves as it is inside a transaction
        for cached in ("timezone", "timezone_name"):
            connection.__dict__.pop(cached, None)
        connection.ensure_timezone()

    with override_settings(USE_TZ=use_tz, TIME_ZONE=name):
        forget()
        yield use_tz
    forget()


def test_now_is_the_present_in_the_project_s_terms(store: Store, zone: bool):
    assert timezone.is_aware(store.now()) == zone
    assert abs(store.now() - timezone.now()) < SOON


@pytest.mark.parametrize("form", ["naive", "aware"])
def test_a_task_ten_seconds_ahead_waits_and_one_in_the_past_does_not(store: Store, zone: bool, form: str):
    def at(seconds: float) -> datetime:
        time = datetime.now(UTC) + timedelta(seconds=seconds)
        return timezone.make_naive(time, timezone.get_default_timezone()) if form == "naive" else time

    future, past = enqueue(store, run_after=at(10)), enqueue(store, run_after=at(-10))
    assert (future.state, past.state) == ("scheduled", "ready")
    assert abs((store.next_due() or 0) - 10) < SOON.total_seconds()
    assert store.promote() == 0
    assert store.promote(now=at(11)) == 1
    assert abs(store.next_due(now=at(0)) or 0) == 0


def test_a_life_has_no_offset_of_hours(store: Store, zone: bool):
    worker = store.register_worker("w", lease=30)
    pk = enqueue(store).id
    store.ack([(claim_one(store, owner_of(worker)), outcome(Kind.RETRIED, delay=60))])
    assert abs(row(pk)["run_after"] - timezone.now() - timedelta(minutes=1)) < SOON
    store.run_now([pk])
    store.ack([(claim_one(store, owner_of(worker)), outcome(Kind.SUCCESSFUL))])
    stored = row(pk)
    for column in ("enqueued_at", "started_at", "last_attempted_at", "finished_at"):
        assert abs(stored[column] - timezone.now()) < SOON, column


def test_no_lease_is_lost_by_the_zone(store: Store, zone: bool):
    worker = store.register_worker("w", lease=30)
    enqueue(store)
    claim_one(store, owner_of(worker))
    assert store.rescue(max_crashes=3) == []
    assert store.heartbeat(worker.pk, lease=30)
    assert abs(Worker.objects.get().lease_until - timezone.now() - timedelta(seconds=30)) < SOON


@pytest.mark.parametrize("given", [NOW, NOW.replace(microsecond=0)])
def test_a_given_aware_time_is_the_same_instant_everywhere(store: Store, zone: bool, given: datetime):
    worker = store.register_worker("w", lease=30, now=given)
    pk = enqueue(store).id
    task = claim_one(store, owner_of(worker), now=given)
    assert task.last_attempted_at == row(pk)["last_attempted_at"] == storable(given)
    store.ack([(task, outcome(Kind.FAILED))], now=given)
    assert row(pk)["finished_at"] == storable(given)
    assert store.prune({"failed": 1}, now=given) == 0
    assert store.prune({"failed": 1}, now=given + timedelta(days=1)) == 1


def test_a_claim_sees_times_in_the_project_s_terms(store: Store, zone: bool):
    put(run_after=storable(ago(hours=1)))
    (head,) = store.look().heads
    assert head.run_after == storable(ago(hours=1))
    assert claim_one(store, Owner(1, "w"), now=later()).run_after == storable(ago(hours=1))


def test_the_numbers_of_the_queue_are_the_same(store: Store, zone: bool):
    now = store.now()
    put("ready", enqueued_at=now - timedelta(seconds=50), run_after=now - timedelta(seconds=50))
    put("scheduled", run_after=now + timedelta(seconds=100))
    found = snapshot.snapshot(fresh=True)
    assert found.next_due_seconds == pytest.approx(100, abs=30)
    assert found.next_retry_seconds is None
    assert found.queues[0].oldest_ready_seconds == pytest.approx(50, abs=30)
