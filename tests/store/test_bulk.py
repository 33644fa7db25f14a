"""A bulk operation changes what matched when it was asked for, each task once, and counts add up."""

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, IntegrityError, connection
from django.utils import timezone

from django_locqueue.models import Activity, BulkOperation, Task
from django_locqueue.statement_limit import SETTINGS
from django_locqueue.store import Store, store_for
from django_locqueue.store import bulk as module
from django_locqueue.store.selection import Selection
from django_locqueue.verbs import VERBS
from tests.store.plans import plans
from tests.store.races import race
from tests.store.rows import put, put_many, state

FAILED = Selection("failed")


def past(**units: float) -> Any:
    return timezone.now() - timedelta(**units)


def fail(count: int, **columns: Any) -> None:
    put_many(count, "failed", **{"attempt": 1, "finished_at": past(hours=1), **columns})


def ask(store: Store, verb: str = "retry", selection: Selection = FAILED, **more: Any) -> BulkOperation:
    return store.add_bulk(verb, selection, **{"by": "alice", "matched": 0, **more})


def do(store: Store, verb: str = "retry", options: Any = ()) -> Any:
    return lambda ids: VERBS[verb](store, ids, by="alice", options=dict(options)).done


def one_batch(store: Store, apply: Any = None) -> BulkOperation | None:
    operation = store.take_bulk()
    assert operation is not None
    return store.change_bulk(operation, store.find_bulk(operation), apply or do(store, operation.verb))


def work_off(store: Store, apply: Any = None) -> BulkOperation:
    """Do one operation to its end as a worker does."""
    operation = store.take_bulk()
    assert operation is not None
    while not operation.is_finished:
        apply = apply or do(store, operation.verb, operation.options)
        operation = store.change_bulk(operation, store.find_bulk(operation), apply)
        assert operation is not None
    return operation


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 3)


def counts(operation: BulkOperation) -> tuple[int, int]:
    return operation.changed, operation.skipped


def test_all_that_match_are_changed_batch_by_batch(store: Store, small_batches: None) -> None:
    fail(10)
    ask(store, matched=10)
    operation = work_off(store)
    assert (operation.state, counts(operation)) == ("done", (10, 0))
    assert Task.objects.ready().count() == 10


@pytest.mark.parametrize(
    "selection", [Selection("failed", queue="mail"), Selection("all", queue="mail", state="failed")]
)
def test_only_what_matches_is_changed(store: Store, small_batches: None, selection: Selection) -> None:
    for _ in range(4):
        fail(1, queue_name="mail")
        fail(1)
    ask(store, selection=selection, matched=4)
    assert counts(work_off(store)) == (4, 0)
    assert set(Task.objects.ready().values_list("queue_name", flat=True)) == {"mail"}


@pytest.mark.parametrize("listing", ["failed", "all", "ready"])
def test_no_batch_looks_at_the_whole_table(
    store: Store, small_batches: None, listing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK", 5)
    for number in range(23):
        ended = {} if listing == "ready" else {"finished_at": past(minutes=1 + number // 3)}
        task_path = "shop.tasks.rare" if number % 6 == 0 else "shop.tasks.send"
        put("ready" if listing == "ready" else "failed", task_path=task_path, priority=number % 2, **ended)
    operation = ask(store, "delete", Selection(listing, task="shop.tasks.rare"), matched=4)
    seen: list[int] = []
    looks = 0
    while not operation.is_finished:
        operation = store.take_bulk(now=timezone.now() + timedelta(hours=looks)) or operation
        found = store.find_bulk(operation)
        seen += found.ids
        looks += 1
        operation = store.change_bulk(operation, found, do(store, "delete")) or operation
    assert len(seen) == len(set(seen)) == operation.changed == 4
    assert looks >= 4
    assert Task.objects.count() == 19


def test_what_is_enqueued_or_fails_later_is_not_meant(store: Store) -> None:
    fail(2)
    runs = put("running")
    ask(store, matched=2)
    Task.objects.filter(pk=runs).update(state="failed", finished_at=timezone.now() + timedelta(seconds=1))
    fail(1)
    assert counts(work_off(store)) == (2, 0)
    assert Task.objects.failed().count() == 2


def test_a_task_that_fails_again_is_not_retried_twice(store: Store, small_batches: None) -> None:
    fail(7)
    ask(store, matched=7)
    retried: list[int] = []

    def retry_and_fail(ids: Sequence[int]) -> list[int]:
        done: list[int] = do(store)(ids)
        retried.extend(done)
        Task.objects.filter(pk__in=done).update(state="failed", finished_at=timezone.now())
        return done

    assert counts(work_off(store, retry_and_fail)) == (7, 0)
    assert len(retried) == len(set(retried)) == 7


def test_what_somebody_else_changed_meanwhile_is_skipped_and_counted(store: Store, small_batches: None) -> None:
    fail(10)
    ask(store, matched=10)
    operation = store.take_bulk()
    assert operation is not None
    found = store.find_bulk(operation)
    store.requeue([found.ids[0]])  # between the look and the write
    last = Task.objects.failed().order_by("pk")[0].pk
    store.delete([last])  # before the look
    operation = store.change_bulk(operation, found, do(store))
    assert operation is not None
    while not operation.is_finished:
        operation = store.change_bulk(operation, store.find_bulk(operation), do(store))
        assert operation is not None
    assert counts(operation) == (8, 2)


@pytest.mark.parametrize(
    ("verb", "options", "column"),
    [
        ("move", {"queue_name": "z"}, "queue_name"),
        ("change_priority", {"priority": -7}, "priority"),
    ],
)
def test_a_task_that_moves_within_the_order_is_changed_once(
    store: Store, small_batches: None, verb: str, options: Any, column: str
) -> None:
    put_many(7, queue_name="a", run_after=past(hours=1))
    ask(store, verb, Selection("ready"), options=options, matched=7)
    assert counts(work_off(store)) == (7, 0)
    assert set(Task.objects.values_list(column, flat=True)) == set(options.values())


def test_a_task_whose_time_is_put_off_is_changed_once(store: Store, small_batches: None) -> None:
    put_many(7, "scheduled", run_after=timezone.now() + timedelta(hours=1))
    options = {"run_after": (timezone.now() + timedelta(days=1)).isoformat()}
    ask(store, "change_time", Selection("scheduled"), options=options, matched=7)
    assert counts(work_off(store)) == (7, 0)


@pytest.mark.parametrize("listing", ["ready", "scheduled", "running", "failed", "retried", "all"])
def test_each_ordering_is_gone_through_whole(store: Store, small_batches: None, listing: str) -> None:
    states = {"retried": "failed", "all": "cancelled"}
    for number in range(8):
        put(
            states.get(listing, listing),
            attempt=2,
            queue_name=f"q{number % 2}",
            priority=number % 3,
            run_after=past(minutes=number % 4),
            finished_at=past(minutes=1 + number % 4) if listing in ("failed", "retried", "all") else None,
            worker_id=number % 2 + 1,
        )
    ask(store, "cancel", Selection(listing), matched=8)
    seen: list[int] = []

    def see(ids: Sequence[int]) -> Sequence[int]:
        seen.extend(ids)
        return ids

    work_off(store, see)
    assert sorted(seen) == sorted(Task.objects.values_list("pk", flat=True))


def test_one_bad_row_does_not_stop_the_others(store: Store) -> None:
    fail(5)
    bad = Task.objects.failed().order_by("pk")[2].pk
    ask(store, matched=5)

    def apply(ids: Sequence[int]) -> list[int]:
        done: list[int] = do(store)(ids)
        if bad in ids:
            raise DataError("this row cannot be written")
        return done

    operation = work_off(store, apply)
    assert (operation.state, counts(operation), state(bad)) == ("done", (4, 1), "failed")


def test_a_batch_that_is_given_up_is_neither_done_nor_counted(store: Store) -> None:
    fail(3)
    ask(store, matched=3)

    def die(ids: Sequence[int]) -> list[int]:
        do(store)(ids)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one_batch(store, die)
    assert Task.objects.failed().count() == 3
    assert counts(BulkOperation.objects.get()) == (0, 0)


def test_another_worker_goes_on_when_the_lease_is_over(store: Store, small_batches: None) -> None:
    fail(5)
    ask(store, matched=5)
    first = one_batch(store)
    assert first is not None
    assert store.take_bulk() is None
    later = timezone.now() + timedelta(seconds=module.LEASE_SECONDS + 1)
    second = store.take_bulk(now=later)
    assert second is not None
    assert store.change_bulk(first, store.find_bulk(first), do(store)) is None  # it has lost it
    second = store.change_bulk(second, store.find_bulk(second), do(store), now=later)
    assert second is not None
    assert (second.state, counts(second)) == ("done", (5, 0))


def test_it_stops_behind_the_batch_that_is_under_way(store: Store, small_batches: None) -> None:
    fail(9)
    ask(store, matched=9)
    operation = one_batch(store)
    assert operation is not None
    assert store.stop_bulk(operation.pk, by="bob")
    assert store.change_bulk(operation, store.find_bulk(operation), do(store)) is None
    assert store.take_bulk(now=timezone.now() + timedelta(days=1)) is None
    stored = BulkOperation.objects.get()
    assert (stored.state, stored.stopped_by, counts(stored)) == ("stopped", "bob", (3, 0))
    assert not store.stop_bulk(operation.pk, by="carol")
    assert Task.objects.failed().count() == 6


def test_no_more_than_the_most_are_changed(store: Store, small_batches: None) -> None:
    fail(9)
    ask(store, matched=5, most=4)
    operation = work_off(store)
    assert (operation.state, counts(operation)) == ("done", (4, 0))
    assert Task.objects.failed().count() == 5


def test_with_a_rate_it_rests_between_batches(store: Store) -> None:
    fail(50)
    ask(store, matched=50, rate=120)
    operation = one_batch(store)
    assert operation is not None
    assert counts(operation) == (10, 0)  # what 120 a minute allow in five seconds
    rest = (operation.next_at - timezone.now()).total_seconds()
    assert 3 < rest < 6
    assert not store.bulk_is_due()
    assert store.bulk_is_due(now=operation.next_at)


def test_it_does_not_begin_before_its_time(store: Store) -> None:
    start = timezone.now() + timedelta(hours=1)
    ask(store, start_at=start)
    assert store.take_bulk() is None
    assert store.take_bulk(now=start) is not None


def test_its_end_is_written_down_with_who_why_and_how_many(store: Store) -> None:
    fail(2)
    ask(store, matched=3, reason="SMTP is back")
    work_off(store)
    activity = Activity.objects.get()
    assert (activity.verb, activity.user_name, activity.reason) == ("retry", "alice", "SMTP is back")
    assert (activity.selection, activity.matched, activity.changed, activity.skipped) == (FAILED.as_json(), 3, 2, 1)


def test_the_same_that_is_under_way_is_found(store: Store) -> None:
    operation = ask(store)
    assert store.unfinished_bulk("retry", FAILED) == operation
    assert store.unfinished_bulk("delete", FAILED) is None
    assert store.unfinished_bulk("retry", Selection("failed", queue="mail")) is None
    work_off(store)
    assert store.unfinished_bulk("retry", FAILED) is None


@pytest.mark.parametrize(
    ("selection", "index"), [(FAILED, "locqueue_task_open"), (Selection("ready"), "locqueue_task_ready")]
)
def test_a_batch_is_read_from_its_index(
    store: Store, small_batches: None, selection: Selection, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor == "mysql":
        pytest.skip("asks PostgreSQL and SQLite")
    monkeypatch.setattr(module, "LOOK", 3)
    for minutes in range(9):
        fail(1, finished_at=past(minutes=1 + minutes))
    put_many(9)
    ask(store, "delete", selection, matched=5)
    operation = one_batch(store)
    assert operation is not None
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(SETTINGS, ["0"])  # plans() asks behind the statement's own
    found = [plan for plan in plans(lambda: store.find_bulk(operation)) if "locqueue_task" in plan]
    for plan in found:
        assert index in plan
        assert "Sort" not in plan
        assert "TEMP B-TREE" not in plan
    assert len(found) in (1, 3)


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_one_worker_has_it(self) -> None:
        store = store_for("default")
        ask(store)
        taken = race(store.take_bulk, store.take_bulk)
        assert sum(operation is not None for operation in taken) == 1


def test_another_choice_is_another_operation(store: Store) -> None:
    selection = Selection("failed", queue="mail")
    asked = store.add_bulk("move", selection, by="bob", matched=0, options={"queue_name": "slow"})
    assert store.unfinished_bulk("move", selection, {"queue_name": "slow"}) == asked
    assert store.unfinished_bulk("move", selection, {"queue_name": "fast"}) is None


def test_a_form_begins_one_operation(store: Store) -> None:
    nonce = uuid.uuid4()
    store.add_bulk("retry", Selection("failed"), by="bob", matched=0, nonce=nonce)
    with pytest.raises(IntegrityError), store.transaction():
        store.add_bulk("retry", Selection("failed"), by="bob", matched=0, nonce=nonce)
