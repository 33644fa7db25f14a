"""Tasks under limits, run by a whole worker."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from django_locqueue.models import Limit, State, Task
from django_locqueue.store.serve import Owner
from django_locqueue.testing import run_tasks
from django_locqueue.worker.execution import Execution
from tests import hooks, limited_tasks, tasks
from tests.processes import wait_until
from tests.running import in_thread, our_backend, perform, row
from tests.worker.conftest import a_worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fast(settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"POLL_SECONDS": (0.01, 0.05)}}
    limited_tasks.reset()


def drain(**options):
    assert in_thread(a_worker(**{"drain": True, "threads": 4, **options}).run) == 0


def test_tasks_of_one_key_run_one_at_a_time_in_the_order_in_which_they_were_enqueued():
    for number in range(8):
        for shop in (1, 2, 3):
            limited_tasks.in_order.enqueue(shop, number=number)
    drain()
    for shop in (1, 2, 3):
        assert [number for key, number in limited_tasks.began if key == shop] == list(range(8))
    assert max(limited_tasks.together) <= 3


def test_no_more_run_at_once_than_the_definition_allows(serving):
    limited_tasks.gate.clear()
    limited_tasks.at_most_two.enqueue_many([((number,), {}) for number in range(6)])
    serving(threads=4)
    wait_until(lambda: len(limited_tasks.began) == 2)
    assert Task.objects.running().count() == 2
    limited_tasks.gate.set()
    wait_until(lambda: Task.objects.successful().count() == 6)
    assert max(limited_tasks.together) == 2


def test_a_draining_worker_waits_for_those_whose_turn_comes():
    limited_tasks.steady.enqueue_many([(("cn", number), {}) for number in range(5)])
    drain()
    assert [number for _, number in limited_tasks.began] == list(range(5))


def test_a_draining_worker_does_not_wait_for_a_turn_that_comes_in_an_hour():
    results = limited_tasks.hourly.enqueue_many([((number,), {}) for number in range(2)])
    drain()
    assert [row(result).state for result in results] == [State.SUCCESSFUL, State.BLOCKED]


def test_plain_and_limited_tasks_run_beside_each_other():
    tasks.add.enqueue_many([((number,), {}) for number in range(300)])
    limited_tasks.fast.enqueue_many([((number,), {}) for number in range(100)])
    drain()
    assert Task.objects.successful().count() == 400


def test_retry_after_pauses_all_that_are_under_the_rate():
    limited_tasks.told_to_wait.enqueue_many([((3600,), {}) for _ in range(3)])
    drain(threads=1)
    assert len(limited_tasks.began) == 1
    assert sorted(Task.objects.values_list("state", flat=True)) == ["blocked", "blocked", "scheduled"]
    assert Limit.objects.get().paused_until > timezone.now() + timedelta(minutes=59)


def test_the_last_retry_after_pauses_the_rate_too():
    limited_tasks.told_to_wait.enqueue_many([((3600,), {}) for _ in range(2)])
    Task.objects.update(max_attempts=1)
    drain(threads=1)
    assert sorted(Task.objects.values_list("state", flat=True)) == ["blocked", "failed"]


def test_a_task_can_pause_its_rate_and_go_on():
    limited_tasks.pauses.enqueue_many([((3600,), {}) for _ in range(3)])
    drain(threads=1)
    assert sorted(Task.objects.values_list("state", flat=True)) == ["blocked", "blocked", "successful"]


def test_a_task_that_made_no_call_lets_the_next_have_its_start():
    limited_tasks.no_call_was_made.enqueue_many([((number,), {}) for number in range(3)])
    drain(threads=1)
    assert limited_tasks.began == [(0, True), (1, True), (2, True)]


@pytest.fixture
def many_writers():
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")


def test_a_pause_of_the_rate_holds_though_the_tasks_transaction_is_rolled_back(many_writers):
    limited_tasks.pauses_and_rolls_back.enqueue_many([((3600,), {}) for _ in range(2)])
    drain(threads=1)
    assert sorted(Task.objects.values_list("state", flat=True)) == ["blocked", "failed"]


def test_a_start_that_is_given_back_within_a_transaction_is_there_though_it_is_rolled_back(many_writers):
    limited_tasks.no_call_was_made_and_rolls_back.enqueue_many([((), {}) for _ in range(2)])
    drain(threads=1)
    assert limited_tasks.began == [True, True]


@pytest.mark.django_db(transaction=False)
def test_a_task_pauses_its_rate_within_the_transaction_of_a_test():
    limited_tasks.pauses.enqueue_many([((3600,), {}) for _ in range(2)])
    assert [run.outcome for run in run_tasks()] == ["successful"]


def test_a_rate_cannot_be_paused_within_a_transaction_of_sqlite():
    if connection.vendor != "sqlite":
        pytest.skip("SQLite only")
    result = limited_tasks.pauses_and_rolls_back.enqueue(3600)
    drain()
    assert row(result).error_message.startswith("Not within a transaction: SQLite has one writer")


@pytest.mark.parametrize("seconds", [-1, 10**12, "3", True])
def test_what_is_no_time_pauses_nothing(seconds):
    result = limited_tasks.pauses.enqueue(seconds)
    drain()
    assert row(result).error_message.startswith("pause_rate takes a number of seconds")


def test_async_tasks_are_limited_alike():
    limited_tasks.in_order_async.enqueue_many([((number,), {}) for number in range(6)])
    drain()
    assert limited_tasks.began == list(range(6))
    assert max(limited_tasks.together) == 1


def test_a_task_that_gets_its_thread_too_late_for_its_rate_goes_back_unrun():
    result = limited_tasks.hourly.enqueue(1)
    store = our_backend().store
    worker = store.register_worker("w", lease=60)
    [claimed] = store.claim_limited(Owner(worker.pk, worker.name), 1).tasks
    perform([Execution(claimed, start_by=0.0)])
    assert (row(result).state, row(result).attempt, limited_tasks.began) == (State.BLOCKED, 0, [])


def test_what_comes_too_late_for_its_rate_has_met_no_hook(settings):
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": {"MIDDLEWARE": ["tests.hooks.Noting"]}}}
    limited_tasks.hourly.enqueue(1)
    store = our_backend().store
    worker = store.register_worker("w", lease=60)
    [claimed] = store.claim_limited(Owner(worker.pk, worker.name), 1).tasks
    hooks.seen.clear()
    perform([Execution(claimed, start_by=0.0)])
    assert hooks.seen == []


def test_f7_tasks_of_a_dead_worker_free_their_places_when_its_lease_is_over(settings):
    """F7"""
    settings.LOCQUEUE = {"WORKER": {"POLL_SECONDS": (0.01, 0.05), "HEARTBEAT_SECONDS": 0.2, "LEASE_SECONDS": 1}}
    store = our_backend().store
    dead = store.register_worker("dead", lease=1, now=timezone.now() - timedelta(minutes=1))
    results = [limited_tasks.in_order.enqueue(1, number=number) for number in range(2)]
    store.claim_limited(Owner(dead.pk, dead.name), 10)
    canary = tasks.add.enqueue(1)
    drain(threads=2)
    assert {row(result).state for result in (*results, canary)} == {State.SUCCESSFUL}
    assert row(results[0]).crashes == 1


def test_a_worker_that_leaves_gives_what_it_had_back_to_wait_for_its_turn(serving):
    limited_tasks.gate.clear()
    results = [limited_tasks.in_order.enqueue(1, number=number) for number in range(2)]
    worker = serving(grace_seconds=0)
    wait_until(lambda: len(limited_tasks.began) == 1)
    worker.request_stop()
    worker.request_stop()
    worker.code()
    limited_tasks.gate.set()
    assert {row(result).state for result in results} == {State.BLOCKED}
