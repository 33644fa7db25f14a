"""Unique tasks when many enqueue and claim at once, on connections of their own."""

import random
import threading
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection, connections, transaction

from django_locqueue.models import State, Task, UniqueItem
from django_locqueue.policies.outcome import Kind
from tests import unique_tasks
from tests.processes import wait_until
from tests.store.races import in_thread, race
from tests.store.rows import outcome

pytestmark = pytest.mark.django_db(transaction=True)

PRODUCERS, ROUNDS = 4, 12


class Failures:
    """Notes each statement that a database refused."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        try:
            return execute(sql, params, many, context)
        except Exception as error:
            self.seen.append(f"{error}: {sql}")
            raise


@pytest.fixture
def failures() -> Failures:
    return Failures()


@pytest.fixture
def server_log() -> Callable[[], str]:
    """Return a function that reads what PostgreSQL has logged since the test began; where there is none, nothing."""
    path = Path(str(connection.settings_dict["OPTIONS"].get("host", "")), "log")
    if not path.is_file():
        return str
    size = path.stat().st_size
    return lambda: path.read_bytes()[size:].decode()


def watched(failures: Failures, function: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        with connections["default"].execute_wrapper(failures):
            return function()

    return run


# -- the caller's transaction


def test_e4_a_duplicate_breaks_no_transaction(failures, server_log):
    """E4."""
    with transaction.atomic(), connection.execute_wrapper(failures):
        first, second = unique_tasks.ship.enqueue(7), unique_tasks.ship.enqueue(7)
        Group.objects.create(name="saved")
    assert (second.id, second.is_duplicate) == (first.id, True)
    assert Group.objects.filter(name="saved").exists()
    assert Task.objects.count() == 1
    assert failures.seen == []
    assert "ERROR" not in server_log()


@pytest.mark.parametrize("is_atomic", [True, False], ids=["atomic", "autocommit"])
def test_e4_twenty_callers_at_once_store_one_task(failures, server_log, is_atomic):
    """E4."""

    def enqueue() -> Any:
        if not is_atomic:
            return unique_tasks.ship.enqueue(7)
        with transaction.atomic():
            Group.objects.create(name=str(random.random()))
            return unique_tasks.ship.enqueue(7)

    results = race(*[watched(failures, enqueue)] * 20)
    assert len({result.id for result in results}) == 1
    assert sum(not result.is_duplicate for result in results) == 1
    assert Task.objects.count() == 1
    assert Group.objects.count() == 20 * is_atomic
    assert failures.seen == []
    assert "ERROR" not in server_log()


def test_callers_of_the_same_keys_in_any_order_see_no_deadlock(failures):
    def enqueue() -> list[Any]:
        numbers = random.sample(range(30), 30)
        return list(unique_tasks.ship.enqueue_many([((number,), {}) for number in numbers]))

    results = race(*[enqueue] * PRODUCERS)
    assert Task.objects.count() == 30
    assert sum(not result.is_duplicate for result in chain(*results)) == 30


# -- merging


@pytest.mark.parametrize("is_atomic", [True, False], ids=["atomic", "autocommit"])
@pytest.mark.parametrize("definition", [unique_tasks.sync, unique_tasks.sync_to_the_end], ids=["started", "finished"])
def test_lists_that_are_merged_at_once_lose_and_double_no_item(store, owner, definition, is_atomic):
    claimed: list[int] = []
    ended = []

    def produce(number: int) -> None:
        try:
            produce_all(number)
        finally:
            ended.append(number)

    def produce_all(number: int) -> None:
        for turn in range(ROUNDS):
            items = [number * 1000 + turn * 2, number * 1000 + turn * 2 + 1]
            if is_atomic:
                with transaction.atomic():
                    definition.enqueue(1, items)
            else:
                definition.enqueue(1, items)

    def consume() -> None:
        while len(ended) < PRODUCERS or Task.objects.ready().exists():
            for task in store.claim(owner, 5):
                claimed.extend(Task.objects.get(pk=task.id).args_kwargs["args"][1])
                store.ack([(task, outcome(Kind.SUCCESSFUL))])

    race(*[lambda number=number: produce(number) for number in range(PRODUCERS)], consume)
    assert sorted(claimed) == sorted(number * 1000 + item for number in range(PRODUCERS) for item in range(2 * ROUNDS))


def test_items_that_many_enqueue_at_once_wait_in_one_task_each(failures):
    def produce() -> None:
        for _ in range(ROUNDS):
            unique_tasks.fetch.enqueue(1, random.sample(range(40), 12))

    race(*[watched(failures, produce)] * PRODUCERS)
    waiting = list(chain(*(task.args_kwargs["args"][1] for task in Task.objects.pending())))
    assert len(waiting) == len(set(waiting)) == UniqueItem.objects.count()


# -- what is committed with a skip is seen by the task


@pytest.mark.usefixtures("needs_row_locks")
@pytest.mark.parametrize(
    "definition", [unique_tasks.ship, unique_tasks.settle, unique_tasks.render, unique_tasks.index], ids=str
)
def test_a_waiting_task_does_not_start_before_its_skipping_caller_has_committed(store, owner, definition):
    first = definition.enqueue("1")
    with transaction.atomic():
        assert definition.enqueue("1").is_duplicate
        assert in_thread(lambda: store.claim(owner, 1)) == []
    assert [task.id for task in in_thread(lambda: store.claim(owner, 1))] == [int(first.id)]


@pytest.mark.usefixtures("needs_row_locks")
def test_a_limited_task_does_not_start_before_its_skipping_caller_has_committed(store, owner):
    first = unique_tasks.ship_two_at_once.enqueue(1)
    with transaction.atomic():
        assert unique_tasks.ship_two_at_once.enqueue(1).is_duplicate
        assert in_thread(lambda: store.claim_limited(owner, 5)).tasks == []
    assert [task.id for task in in_thread(lambda: store.claim_limited(owner, 5)).tasks] == [int(first.id)]


@pytest.mark.usefixtures("needs_row_locks")
def test_a_caller_who_skips_what_a_claim_has_just_taken_stores_a_task_of_his_own(store, owner):
    """What was found before the claim is looked at again under a lock."""
    first = unique_tasks.ship.enqueue(7)
    looked = []

    def claim_between(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if "FOR SHARE" in sql and not looked:
            looked.append(in_thread(lambda: store.claim(owner, 1)))
        return execute(sql, params, many, context)

    if connection.vendor != "postgresql":
        pytest.skip("elsewhere the first look locks")
    with transaction.atomic(), connection.execute_wrapper(claim_between):
        second = unique_tasks.ship.enqueue(7)
    assert [task.id for [task] in looked] == [int(first.id)]
    assert (second.is_duplicate, Task.objects.count()) == (False, 2)


@pytest.mark.usefixtures("needs_postgresql")
def test_callers_who_skip_for_the_same_task_do_not_wait_for_each_other():
    unique_tasks.ship.enqueue(7)
    with transaction.atomic():
        unique_tasks.ship.enqueue(7)
        assert in_thread(lambda: _skip_within(seconds=5)).is_duplicate


def _skip_within(seconds: int) -> Any:
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = '{seconds}s'")
        return unique_tasks.ship.enqueue(7)


@pytest.mark.usefixtures("needs_postgresql")
def test_a_skip_for_a_running_task_holds_up_no_outcome(store, owner):
    unique_tasks.settle.enqueue(7)
    [task] = store.claim(owner, 1)
    with transaction.atomic():
        assert unique_tasks.settle.enqueue(7).is_duplicate
        assert in_thread(lambda: store.ack([(task, outcome(Kind.SUCCESSFUL))])) == {task.key: State.SUCCESSFUL}


@pytest.mark.usefixtures("needs_row_locks")
def test_a_task_begins_after_the_caller_has_committed_who_left_an_item_out_for_it(store, owner):
    unique_tasks.fetch.enqueue(1, [1, 2])
    [task] = store.claim(owner, 1)
    events = []
    has_skipped = threading.Event()

    def skip() -> None:
        with transaction.atomic():
            assert unique_tasks.fetch.enqueue(1, [2, 3]).args == [1, [3]]
            has_skipped.set()
            wait_until(lambda: events or _somebody_waits())
            events.append("committed")

    def begin() -> None:
        assert has_skipped.wait(20)
        store.free_items(task.id)
        events.append("begun")

    race(skip, begin)
    assert events == ["committed", "begun"]
    assert UniqueItem.objects.count() == 1


@pytest.mark.usefixtures("needs_row_locks")
@pytest.mark.parametrize("end", ["cancel", "fail", "rescue"])
def test_an_end_without_a_run_waits_for_no_caller_who_left_an_item_out(store, owner, end):
    result = unique_tasks.fetch.enqueue(1, [1, 2])
    tasks = [] if end == "cancel" else store.claim(owner, 1)
    if end == "rescue":
        store.stop_worker(owner.id)
    verbs = {
        "cancel": lambda: store.cancel([int(result.id)]),
        "fail": lambda: store.ack([(task, outcome(Kind.FAILED)) for task in tasks]),
        "rescue": lambda: store.rescue(max_crashes=1),
    }
    with transaction.atomic():
        assert unique_tasks.fetch.enqueue(1, [2]).is_duplicate
        in_thread(lambda: _impatiently(verbs[end]))
    assert Task.objects.get().state in (State.CANCELLED, State.FAILED)
    assert not unique_tasks.fetch.enqueue(1, [1, 2]).is_duplicate


@pytest.mark.usefixtures("needs_row_locks")
def test_who_leaves_an_item_out_waits_for_no_other_that_becomes_free(store, owner):
    unique_tasks.fetch.enqueue(1, [*range(20)])
    unique_tasks.fetch.enqueue(1, [20])
    tasks = store.claim(owner, 2)
    with connection.cursor() as cursor:  # a planner that knows how few there are would rather read all
        cursor.execute(f"ANALYZE {'' if connection.vendor == 'postgresql' else 'TABLE'} locqueue_uniqueitem")
    with transaction.atomic():
        store.free_items(tasks[1].id)
        in_thread(lambda: _impatiently(lambda: unique_tasks.fetch.enqueue(1, [*range(20)])))
    assert set(UniqueItem.objects.values_list("task_id", flat=True)) == {tasks[0].id}


def _impatiently(verb: Callable[[], Any]) -> None:
    with connection.cursor() as cursor:
        is_postgresql = connection.vendor == "postgresql"
        cursor.execute("SET lock_timeout = '1s'" if is_postgresql else "SET innodb_lock_wait_timeout = 1")
    verb()


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT '', count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        else:
            cursor.execute("SHOW GLOBAL STATUS LIKE 'innodb_row_lock_current_waits'")
        return bool(int(cursor.fetchone()[1]))


# -- recovery


def test_a8_a_key_that_was_enqueued_again_blocks_no_recovery(store, owner, other):
    """A8."""
    unique_tasks.ship.enqueue(7)
    unique_tasks.settle.enqueue(7)
    results = [unique_tasks.ship.enqueue(number) for number in range(5)]
    tasks = store.claim(owner, 10)
    assert len(tasks) == 7
    assert not unique_tasks.ship.enqueue(7).is_duplicate
    assert unique_tasks.settle.enqueue(7).is_duplicate
    store.stop_worker(owner.id)
    assert len(store.rescue(max_crashes=3)) == 7
    again = store.claim(other, 20)
    assert len(again) == len(results) + 3
    store.ack([(task, outcome(Kind.SUCCESSFUL)) for task in again])
    assert set(Task.objects.values_list("state", flat=True)) == {State.SUCCESSFUL}


@pytest.mark.parametrize("kind", [Kind.RETRIED, Kind.SNOOZED, Kind.RELEASED])
def test_a8_a_key_that_was_enqueued_again_hinders_no_task_to_be_put_back(store, owner, kind):
    """A8."""
    unique_tasks.ship.enqueue(7)
    [task] = store.claim(owner, 1)
    second = unique_tasks.ship.enqueue(7)
    assert store.ack([(task, outcome(kind))]) == {task.key: State.READY}
    assert list(Task.objects.exclude(unique_lock=None).values_list("pk", flat=True)) == [int(second.id)]


def test_of_two_who_put_tasks_of_one_key_back_one_does(store):
    ids = []
    for _ in range(2):
        ids.append(int(unique_tasks.ship.enqueue(7).id))
        store.cancel(ids[-1:])
    changed = race(lambda: store.requeue(ids[:1]), lambda: store.requeue(ids[1:]))
    assert len(list(chain(*changed))) == 1
    assert Task.objects.ready().count() == 1
