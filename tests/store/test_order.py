"""The order of service: ``priority DESC, run_after, id``."""

import random
from datetime import timedelta

import pytest

from django_locqueue.models import Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.rows import NOW, ago, claim_one, enqueue, later, outcome, put


def served(store: Store, owner: Owner, limit: int = 100, **options: object) -> list[int]:
    return [task.id for task in store.claim(owner, limit, **options)]  # type: ignore[arg-type]


def test_the_higher_priority_is_first_whenever_it_came(store: Store, owner: Owner):
    low, high = put(priority=-1, run_after=ago(days=1)), put(priority=1, run_after=NOW)
    assert served(store, owner) == [high, low]


def test_within_a_priority_the_earlier_time_is_first(store: Store, owner: Owner):
    second, first = put(run_after=NOW), put(run_after=ago(microseconds=1))
    assert served(store, owner) == [first, second]


def test_at_the_same_time_the_older_row_is_first(store: Store, owner: Owner):
    rows = [put(run_after=NOW) for _ in range(3)]
    assert served(store, owner) == rows


def test_times_with_and_without_microseconds_are_in_order(store: Store, owner: Owner):
    whole = NOW.replace(microsecond=0)
    rows = [put(run_after=whole + timedelta(microseconds=each)) for each in (0, 1, 100_000, 999_999)]
    rows.append(put(run_after=whole + timedelta(seconds=1)))
    assert served(store, owner) == rows


@pytest.mark.parametrize("extreme", [100, -100, 32_767, -32_768])
def test_any_stored_priority_is_served(store: Store, owner: Owner, extreme: int):
    pks = {put(priority=extreme, queue_name="a"), put(priority=0, queue_name="a"), put(priority=0, queue_name="b")}
    assert set(served(store, owner)) == pks


def test_between_queues_the_higher_priority_is_first(store: Store, owner: Owner):
    low = put(queue_name="a", priority=0, run_after=ago(days=1))
    high = put(queue_name="b", priority=1)
    middle = put(queue_name="c", priority=0, run_after=ago(hours=1))
    assert served(store, owner) == [high, low, middle]


def test_priorities_alternate_between_queues(store: Store, owner: Owner):
    pks = {priority: put(queue_name="ab"[priority % 2], priority=priority) for priority in range(10)}
    assert served(store, owner) == [pks[priority] for priority in range(9, -1, -1)]


def test_a_queue_whose_first_task_waits_longest_is_first(store: Store, owner: Owner):
    young, old = put(queue_name="a", run_after=NOW), put(queue_name="b", run_after=ago(hours=1))
    assert served(store, owner, 1) == [old]
    assert served(store, owner, 1) == [young]


def test_one_by_one_is_the_same_order_as_all_at_once(store: Store, owner: Owner):
    numbers = random.Random(7)
    for _ in range(60):
        put(priority=numbers.randint(-2, 2), run_after=NOW + timedelta(microseconds=numbers.randint(-3, 3)))
    wanted = list(Task.objects.order_by("-priority", "run_after", "id").values_list("pk", flat=True))
    claimed = served(store, owner, 20)
    while one := served(store, owner, 1):
        claimed += one
    assert claimed == wanted


def test_over_queues_no_lower_priority_is_served_before_a_higher(store: Store, owner: Owner):
    numbers = random.Random(8)
    for _ in range(80):
        put(queue_name=numbers.choice("abcd"), priority=numbers.randint(-3, 3))
    priorities = []
    while claimed := store.claim(owner, 7):
        priorities += [task.priority for task in claimed]
    assert len(priorities) == 80
    assert priorities == sorted(priorities, reverse=True)


def test_a7_a_retried_task_keeps_its_priority(store: Store, owner: Owner):
    pk = enqueue(store, priority=5, max_attempts=2).id
    store.ack([(claim_one(store, owner), outcome(Kind.RETRIED))])
    put(priority=4, run_after=ago(days=9))
    assert served(store, owner, 1) == [pk]


def test_a7_a_rescued_task_keeps_its_priority(store: Store, owner: Owner, other: Owner):
    pk = enqueue(store, priority=5).id
    claim_one(store, owner)
    put(priority=4, run_after=ago(days=9))
    store.stop_worker(owner.id)
    store.rescue(max_crashes=3, now=NOW)
    assert served(store, other, 1) == [pk]


def test_a_promoted_task_takes_its_place_by_its_time(store: Store, owner: Owner):
    young = put(run_after=NOW)
    old = put("scheduled", run_after=ago(seconds=1))
    youngest = put(run_after=later(seconds=1))
    store.promote(now=NOW)
    assert served(store, owner) == [old, young, youngest]
