"""What has ended is added to counts by minute, hour and day, and what is old is deleted."""

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, Error

from django_locqueue.models import ErrorCount, ErrorGroup, TaskStat
from django_locqueue.policies.fingerprint import Place, kind_of
from django_locqueue.store import EndCounts, Store
from django_locqueue.store.end_counts import NOTHING, RUN, RUN_BINS, SUCCEEDED, Failures
from tests.store.races import race
from tests.store.rows import PATH, put

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)
AT = NOW.timestamp()
KIND = kind_of("builtins.ValueError", "no order 7", None)


def counts_of(number: int = 1, *, queue: str = "mail", path: str = PATH, at: float = AT) -> EndCounts:
    counts = EndCounts()
    sums = list(NOTHING)
    sums[SUCCEEDED], sums[RUN], sums[RUN_BINS + 6] = number, number * 0.5, number
    counts.add(at, queue, path, sums)
    return counts


def failures(at: float = AT, count: int = 1, place: Place | None = None, path: str = PATH) -> EndCounts:
    counts = EndCounts()
    counts.add_failures(Failures(KIND, at, at, count, path, place))
    return counts


def test_what_ended_is_added_to_its_minute_hour_and_day(store: Store):
    store.add_end_counts(counts_of(2))
    store.add_end_counts(counts_of(3))
    found = TaskStat.objects.order_by("seconds").values_list("seconds", "start", "succeeded", "run_seconds", "run_6")
    assert list(found) == [
        (60, NOW.replace(second=0, microsecond=0), 5, 2.5, 5),
        (3600, NOW.replace(minute=0, second=0, microsecond=0), 5, 2.5, 5),
        (86400, NOW.replace(hour=0, minute=0, second=0, microsecond=0), 5, 2.5, 5),
    ]
    row = TaskStat.objects.filter(seconds=60).values().get()
    assert (row["queue_name"], row["task_path"]) == ("mail", PATH)
    assert sum(row[name] for name in row if name.startswith(("wait_", "failed", "retried", "cancelled"))) == 0


def test_the_hour_that_comes_twice_is_one_where_times_have_no_zone(store: Store, settings: Any):
    settings.USE_TZ, settings.TIME_ZONE = False, "Europe/Berlin"
    counts = counts_of(2, at=datetime(2026, 10, 25, 0, 30, tzinfo=UTC).timestamp())
    counts.merge(counts_of(3, at=datetime(2026, 10, 25, 1, 30, tzinfo=UTC).timestamp()))
    store.add_end_counts(counts)
    assert list(TaskStat.objects.order_by("seconds").values_list("succeeded", "run_seconds")) == [(5, 2.5)] * 3


def test_queues_that_differ_in_a_capital_are_counted_apart(store: Store):
    store.add_end_counts(counts_of(queue="mail"))
    store.add_end_counts(counts_of(queue="Mail"))
    assert TaskStat.objects.filter(seconds=60, succeeded=1).count() == 2


def test_what_has_been_written_is_taken_out(store: Store):
    counts = counts_of()
    counts.merge(failures())
    assert len(counts) == 5
    store.add_end_counts(counts)
    assert not counts


def test_a_failure_leaves_what_has_not_been_written(store: Store, monkeypatch: pytest.MonkeyPatch):
    counts = counts_of()
    counts.merge(failures())

    def fail(*args: Any) -> None:
        raise DatabaseError("no")

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "_add_groups", fail)
        with pytest.raises(DatabaseError):
            store.add_end_counts(counts)
    assert (len(counts.stats), len(counts.groups), len(counts.hours)) == (0, 1, 1)
    store.add_end_counts(counts)
    assert TaskStat.objects.get(seconds=60).succeeded == 1
    assert ErrorGroup.objects.get().total == 1


def test_many_rows_take_a_statement_for_each_hundred(store: Store, django_assert_num_queries: Any):
    counts = EndCounts()
    for number in range(70):
        counts.merge(counts_of(path=f"a.t{number}"))
    with django_assert_num_queries(3):
        store.add_end_counts(counts)
    assert TaskStat.objects.count() == 210


def test_the_oldest_is_dropped_first():
    counts = counts_of(at=AT)
    counts.merge(counts_of(at=AT - 3600))
    counts.merge(failures())
    assert counts.drop(6) == 1
    assert len(counts) == 6
    assert counts.drop(100) == 0
    assert counts.drop(0) == 6


# -- kinds of errors


def test_a_kind_of_error_is_stored_with_where_it_was_met_last(store: Store):
    store.add_end_counts(failures(AT - 60, 2, Place("shop/mail.py", 41, "send", "x"), "shop.tasks.first"))
    store.add_end_counts(failures(AT, 3, Place("shop/mail.py", 43, "send", "x"), "shop.tasks.second"))
    group = ErrorGroup.objects.get()
    assert (group.pk, group.error_class, group.message) == (KIND.fingerprint, "builtins.ValueError", "no order <n>")
    assert (group.place, group.task_path) == ("shop/mail.py:43 send", "shop.tasks.second")
    assert (group.first_seen, group.last_seen) == (NOW - timedelta(seconds=60), NOW)
    assert (group.total, group.back_at) == (5, None)
    assert (group.is_new(NOW), group.is_back(NOW)) == (True, False)
    assert ErrorCount.objects.get().count == 5


def test_a_kind_that_is_met_again_after_a_week_is_back(store: Store):
    store.add_end_counts(failures(AT - 8 * 86400))
    store.add_end_counts(failures(AT - 60))
    store.add_end_counts(failures(AT))
    group = ErrorGroup.objects.get()
    assert group.back_at == NOW - timedelta(seconds=60)
    assert (group.is_new(NOW), group.is_back(NOW)) == (False, True)
    assert not group.is_back(NOW + timedelta(days=2))
    assert [each.count for each in ErrorCount.objects.order_by("hour")] == [1, 2]


def test_a_kind_that_is_met_again_within_a_week_is_not_back(store: Store):
    store.add_end_counts(failures(AT - 6 * 86400))
    store.add_end_counts(failures(AT))
    assert ErrorGroup.objects.get().back_at is None


def test_counts_of_long_ago_change_neither_the_last_time_nor_that_it_is_back(store: Store):
    store.add_end_counts(failures(AT))
    store.add_end_counts(failures(AT - 3600))
    group = ErrorGroup.objects.get()
    assert (group.last_seen, group.total) == (NOW, 2)


# -- what is old


def ages(model: Any, column: str) -> list[timedelta]:
    return sorted(NOW - value for value in model.objects.values_list(column, flat=True))


def test_minutes_are_kept_two_days_hours_thirty_and_days_four_hundred(store: Store):
    kept = {60: timedelta(hours=47), 3600: timedelta(days=29), 86400: timedelta(days=399)}
    for seconds, age in kept.items():
        for old in (age, age + timedelta(days=2)):
            TaskStat.objects.create(seconds=seconds, start=NOW - old, queue_name="q", task_path=PATH)
    store.prune_end_counts(now=NOW)
    assert ages(TaskStat, "start") == sorted(kept.values())


def test_errors_of_ninety_days_ago_go_but_for_those_of_which_failed_tasks_are_left(store: Store):
    for name, days in (("a", 89), ("b", 91), ("c", 91)):
        ErrorGroup.objects.create(pk=name * 40, error_class="E", last_seen=NOW - timedelta(days=days))
        ErrorCount.objects.create(group_id=name * 40, hour=NOW - timedelta(days=days), count=1)
    put("failed", error_group_id="c" * 40, finished_at=NOW)
    put("successful", error_group_id="b" * 40, finished_at=NOW)
    store.prune_end_counts(now=NOW)
    assert set(ErrorGroup.objects.values_list("pk", flat=True)) == {"a" * 40, "c" * 40}
    assert ages(ErrorCount, "hour") == [timedelta(days=89)]


def test_pruning_goes_by_batches_and_says_whether_there_may_be_more(store: Store):
    for number in range(5):
        TaskStat.objects.create(seconds=60, start=NOW - timedelta(days=3), queue_name="q", task_path=f"a.t{number}")
    assert store.prune_end_counts(limit=3, now=NOW) == 3
    assert store.prune_end_counts(limit=3, now=NOW) == 2
    assert store.prune_end_counts(limit=3, now=NOW) == 0


# -- many at once


@pytest.mark.django_db(transaction=True)
def test_workers_that_add_to_the_same_counts_lose_none_and_meet_no_deadlock(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    refused: list[str] = []
    is_transient = store.is_transient

    def note(error: Error) -> bool:
        refused.append(str(error))
        return is_transient(error)

    monkeypatch.setattr(store, "is_transient", note)
    rounds, workers, paths = 15, 4, [f"a.t{number}" for number in range(12)]

    def work(number: int) -> None:
        for turn in range(rounds):
            counts = EndCounts()
            for path in paths[:: -1 if number % 2 else 1]:  # each in an order of its own
                counts.merge(counts_of(path=path, at=AT + 60 * (turn % 3)))
                kind = kind_of("builtins.ValueError", f"it is {path[-1]}{'x' * int(path[3:])}", None)
                counts.add_failures(Failures(kind, AT, AT, 1, path, None))
            store.add_end_counts(counts)

    race(*(partial(work, number) for number in range(workers)))
    assert [each for each in refused if "locked" not in each] == []  # SQLite's writers wait for each other
    for seconds in (60, 3600, 86400):
        rows = TaskStat.objects.filter(seconds=seconds)
        assert sum(rows.values_list("succeeded", flat=True)) == rounds * workers * len(paths)
    assert list(ErrorGroup.objects.values_list("total", flat=True)) == [rounds * workers] * len(paths)
    assert list(ErrorCount.objects.values_list("count", flat=True)) == [rounds * workers] * len(paths)
