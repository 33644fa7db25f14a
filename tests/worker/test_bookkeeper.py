"""A worker counts what ends in it, and what ends without a run, and adds it to the database's counts."""

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError

from django_locqueue import endings
from django_locqueue.models import ErrorCount, ErrorGroup, State, Task, TaskStat, Worker
from django_locqueue.policies.outcome import ErrorReport, Kind
from django_locqueue.store import EndCounts
from django_locqueue.worker import bookkeeper as module
from django_locqueue.worker.bookkeeper import Bookkeeper
from tests import chunked_tasks, tasks
from tests.processes import wait_until
from tests.running import our_backend, row
from tests.worker.fakes import NOW, ended

ERROR = ErrorReport("builtins.ValueError", "no order 7", "Traceback")


class TakingStore:
    """Takes what it is given, but fails ``failing`` times."""

    def __init__(self) -> None:
        self.taken = EndCounts()
        self.failing = 0

    def add_end_counts(self, counts: EndCounts) -> None:
        if self.failing:
            self.failing -= 1
            raise DatabaseError("it does not take them")
        self.taken.merge(counts)
        for part in (counts.stats, counts.groups, counts.hours):
            part.clear()


@pytest.fixture
def store() -> TakingStore:
    return TakingStore()


@pytest.fixture
def keeper(store: Any) -> Bookkeeper:
    return Bookkeeper(store)


def an_end(kind: Kind = Kind.SUCCESSFUL, *, wait: float = 0.2, run: float = 2.0, **claimed: Any) -> Any:
    """Return an execution whose outcome is stored."""
    execution = ended(kind=kind, error=ERROR if kind in (Kind.FAILED, Kind.RETRIED) else None)
    times = {"last_attempted_at": NOW, "run_after": NOW - timedelta(seconds=wait), "enqueued_at": NOW - timedelta(1)}
    execution.claimed = execution.claimed._replace(**{**times, **claimed})
    execution.ended = time.monotonic()
    execution.began = execution.ended - run
    execution.written = State.SUCCESSFUL
    return execution


def minutes(store: TakingStore) -> dict[str, float]:
    """Return what was counted in one minute, without what is 0."""
    names = module_columns()
    [sums] = [sums for key, sums in store.taken.stats.items() if key[0] == TaskStat.MINUTE]
    return {name: value for name, value in zip(names, sums, strict=True) if value}


def module_columns() -> tuple[str, ...]:
    from django_locqueue.store.end_counts import COLUMNS

    return COLUMNS


def test_an_attempt_is_counted_with_its_wait_and_its_run(keeper: Bookkeeper, store: TakingStore):
    keeper.note([an_end()])
    keeper.flush()
    expected = {"succeeded": 1, "wait_seconds": 0.2, "run_seconds": 2.0, "wait_5": 1, "run_7": 1}
    assert minutes(store) == pytest.approx(expected)
    assert {key[2:] for key in store.taken.stats} == {("default", "tests.tasks.add")}


def test_it_is_counted_in_the_minute_in_which_its_outcome_was_stored(keeper: Bookkeeper, store: TakingStore):
    execution = an_end()
    execution.claimed_at = time.monotonic() - 130
    keeper.note([execution])
    keeper.flush()
    assert {key[1] - NOW.timestamp() for key in store.taken.stats if key[0] == TaskStat.MINUTE} == {120}


@pytest.mark.parametrize(
    ("kind", "column"), [(Kind.FAILED, "failed"), (Kind.RETRIED, "retried"), (Kind.CANCELLED, "cancelled")]
)
def test_other_ends_have_a_column_each(keeper: Bookkeeper, store: TakingStore, kind: Kind, column: str):
    keeper.note([an_end(kind), an_end(kind)])
    keeper.flush()
    assert minutes(store)[column] == 2
    assert ("run_seconds" in minutes(store)) == (kind is not Kind.CANCELLED)


@pytest.mark.parametrize("kind", [Kind.RELEASED, Kind.SNOOZED])
def test_what_was_given_back_is_not_counted(keeper: Bookkeeper, store: TakingStore, kind: Kind):
    keeper.note([an_end(kind)])
    keeper.flush()
    assert not store.taken


def test_what_was_refused_is_not_counted(keeper: Bookkeeper, store: TakingStore):
    execution = an_end()
    execution.written = None
    keeper.note([execution])
    keeper.flush()
    assert not store.taken


def test_how_long_one_waited_that_was_put_back_at_once_is_not_known(keeper: Bookkeeper, store: TakingStore):
    before = NOW - timedelta(hours=1)
    keeper.note([an_end(attempt=2, run_after=before, enqueued_at=before, started_at=NOW - timedelta(minutes=50))])
    keeper.note([an_end(attempt=2, wait=5, started_at=NOW - timedelta(minutes=50))])
    keeper.flush()
    assert (minutes(store)["succeeded"], minutes(store)["wait_seconds"]) == (2, 5)


def test_a_failure_is_counted_in_its_kind(keeper: Bookkeeper, store: TakingStore):
    keeper.note([an_end(Kind.FAILED), an_end(Kind.RETRIED), an_end()])
    keeper.flush()
    [failures] = store.taken.groups.values()
    assert (failures.kind, failures.count, failures.task_path) == (ERROR.kind, 2, "tests.tasks.add")
    assert sum(store.taken.hours.values()) == 2


def test_what_the_database_did_not_take_is_kept_for_the_next_time(keeper: Bookkeeper, store: TakingStore):
    store.failing = 2
    for _ in range(3):
        keeper.note([an_end(Kind.FAILED)])
        try:
            keeper.flush()
        except DatabaseError:
            continue
    assert minutes(store)["failed"] == 3
    assert sum(failures.count for failures in store.taken.groups.values()) == 3


def test_what_is_kept_is_bounded(
    keeper: Bookkeeper, store: TakingStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(module, "MOST_ROWS", 6)
    store.failing = 1
    keeper.note([an_end(queue_name=f"q{number}") for number in range(3)])
    with pytest.raises(DatabaseError):
        keeper.flush()
    keeper.flush()
    assert len(store.taken) == 6
    assert "3 counts of what has ended were forgotten" in caplog.text


def test_it_writes_some_seconds_after_the_first_end_and_then_rests(keeper: Bookkeeper, store: TakingStore):
    assert keeper.run_once() > 60
    keeper.note([an_end()])
    assert 0 < keeper.run_once() <= 6
    assert not store.taken
    keeper._due = time.monotonic()
    assert keeper.run_once() == 0
    assert store.taken
    assert keeper.run_once() > 60


# -- a whole worker


@pytest.fixture
def quick(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"POLL_SECONDS": (0.01, 0.05), "CODE_VERSION": "a1b2c3d"}}
    monkeypatch.setattr(module, "FLUSH_SECONDS", 0.05)


def total(**narrowed: Any) -> dict[str, int]:
    rows = TaskStat.objects.filter(seconds=TaskStat.DAY, **narrowed)
    return {name: sum(rows.values_list(name, flat=True)) for name in TaskStat.COUNTS}


@pytest.mark.django_db(transaction=True)
def test_a_worker_leaves_counts_of_all_that_ended_in_it(quick: None, serving: Callable[..., Any]):
    for number in range(3):
        tasks.add.enqueue(number)
    failing = tasks.fail.enqueue()
    for number in range(4):
        chunked_tasks.note.enqueue(number)
    worker = serving()
    wait_until(lambda: total()["succeeded"] == 7)
    worker.request_stop()
    assert worker.code() == 0
    assert total() == {"succeeded": 7, "failed": 1, "retried": 0, "cancelled": 0}
    group = ErrorGroup.objects.get()
    assert row(failing).error_group_id == group.pk
    assert (group.total, group.task_path, ErrorCount.objects.get().count) == (1, "tests.tasks.fail", 1)
    assert group.place.startswith("tests/tasks.py:")
    stopped = Worker.objects.get()
    assert (stopped.succeeded, stopped.failed, stopped.code_version) == (7, 1, "a1b2c3d")
    assert stopped.memory_mb is not None
    assert stopped.memory_mb > 10


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_ends_writes_what_it_has_counted_last(serving: Callable[..., Any]):
    result = tasks.add.enqueue(1)
    worker = serving()
    wait_until(lambda: row(result).is_finished)
    worker.request_stop()
    assert worker.code() == 0
    assert total()["succeeded"] == 1


# -- what ends without a run


@pytest.mark.django_db(transaction=True)
def test_a_waiting_task_that_is_cancelled_is_counted_where_that_was_done():
    result = tasks.add.enqueue(1)
    assert endings.cancel(our_backend().store, [int(result.id)]) == ([int(result.id)], [])
    assert total(task_path="tests.tasks.add") == {"succeeded": 0, "failed": 0, "retried": 0, "cancelled": 1}
    assert not ErrorGroup.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_those_of_a_dead_worker_are_counted_as_put_back_or_failed_and_as_a_kind_of_error():
    store = our_backend().store
    dead = store.register_worker("dead", lease=60)
    for crashes in (0, 5):
        Task.objects.filter(pk=int(tasks.add.enqueue(1).id)).update(
            state="running", attempt=1, worker_id=dead.pk, worker_ids="dead\n", crashes=crashes
        )
    store.stop_worker(dead.pk)
    assert len(endings.rescue(store, max_crashes=3)) == 2
    assert total() == {"succeeded": 0, "failed": 1, "retried": 1, "cancelled": 0}
    group = ErrorGroup.objects.get()
    assert (group.error_class, group.total) == ("django_locqueue.exceptions.WorkerLost", 2)
    assert set(Task.objects.values_list("error_group", flat=True)) == {group.pk}


@pytest.mark.django_db(transaction=True)
def test_counts_that_cannot_be_written_hold_up_nobody_who_cancels(monkeypatch: pytest.MonkeyPatch):
    store = our_backend().store

    def fail(counts: EndCounts) -> None:
        raise DatabaseError("no")

    monkeypatch.setattr(store, "add_end_counts", fail)
    result = tasks.add.enqueue(1)
    endings.cancel(store, [int(result.id)])
    assert row(result).state == State.CANCELLED
