"""A whole worker with async tasks: how many are claimed, and what they do with the database."""

import threading

import pytest
from django.contrib.auth.models import Group

from django_locqueue import compat
from django_locqueue.models import State, Task
from django_locqueue.worker import event_loop
from tests import async_tasks, tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = pytest.mark.django_db(transaction=True)

MANY = 1000


@pytest.fixture(autouse=True)
def gate(settings):
    settings.LOCQUEUE = {
        **settings.LOCQUEUE,
        "WORKER": {"POLL_SECONDS": (0.01, 0.05), "HEARTBEAT_SECONDS": 0.1, "ASYNC_CONCURRENCY": MANY},
    }
    async_tasks.gate.close()
    async_tasks.blocking.clear()
    async_tasks.thread_names.clear()
    async_tasks.connections_seen.clear()
    tasks.gate.clear()
    tasks.entered.clear()
    yield async_tasks.gate
    async_tasks.gate.open()
    async_tasks.blocking.set()
    tasks.gate.set()


def finished(result):
    wait_until(lambda: row(result).is_finished)
    result.refresh()
    return result


def all_finished():
    wait_until(lambda: not Task.objects.exclude(state=State.SUCCESSFUL).exists())


def test_a_thousand_async_tasks_run_at_once_on_a_handful_of_threads(serving, gate):
    async_tasks.wait_at_gate.enqueue_many([((number,), {}) for number in range(MANY)])
    before = threading.active_count()
    serving()
    wait_until(lambda: len(gate.waiting) == MANY)
    assert threading.active_count() - before < 20
    assert Task.objects.running().count() == MANY
    gate.open()
    all_finished()
    assert not Task.objects.exclude(attempt=1).exists()


def test_other_tasks_get_their_threads_beside_a_full_loop(serving, gate, settings):
    settings.LOCQUEUE["WORKER"]["ASYNC_CONCURRENCY"] = 20
    async_tasks.wait_at_gate.enqueue_many([((number,), {}) for number in range(20)])
    serving()
    wait_until(lambda: len(gate.waiting) == 20)
    assert finished(tasks.add.enqueue(1)).status == compat.TaskResultStatus.SUCCESSFUL


def test_other_tasks_that_were_claimed_for_the_loop_go_back_uncharged(serving, gate):
    pairs = [async_tasks.wait_at_gate, tasks.wait_for_gate]
    results = [pairs[number % 2].enqueue() for number in range(60)]
    serving()
    wait_until(lambda: len(gate.waiting) == 30)
    wait_until(lambda: Task.objects.running().count() == 30 + 2)
    gate.open()
    tasks.gate.set()
    all_finished()
    assert {row(result).attempt for result in results} == {1}


def test_an_async_task_uses_the_orm(serving):
    serving()
    result = finished(async_tasks.create_group.enqueue("from a coroutine"))
    assert result.return_value == "from a coroutine"
    assert Group.objects.get().name == "from a coroutine"


def test_b6_async_tasks_have_no_more_connections_than_the_worker_has_threads(serving, gate):
    """B6: what they do with the ORM is done on as many threads as there are slots."""
    async_tasks.note_threads_of_the_orm.enqueue_many([((number,), {}) for number in range(50)])
    serving()
    wait_until(lambda: len(gate.waiting) == 50)
    gate.open()
    all_finished()
    assert async_tasks.thread_names == {"locqueue-lane-1_0", "locqueue-lane-2_0"}


def test_b6_a_connection_that_was_opened_in_another_thread_is_closed_there(serving):
    """B6: asyncio's own threads keep none."""
    serving()
    assert finished(async_tasks.query_in_another_thread.enqueue()).return_value is False
    [connection] = async_tasks.connections_seen
    assert connection.connection is None


def test_b6_a_lane_without_tasks_keeps_no_connection_that_is_to_be_closed(serving):
    """B6: ``CONN_MAX_AGE`` is honoured when the last task has left it."""
    serving()
    assert finished(async_tasks.query_on_a_lane.enqueue()).return_value is False
    [connection] = async_tasks.connections_seen
    wait_until(lambda: connection.connection is None)


def test_e5_a_transaction_that_outlives_its_call_is_rolled_back_and_told(serving):
    """E5: the thread is shared with tasks that run at the same time."""
    serving()
    result = finished(async_tasks.leave_a_transaction_open.enqueue("lost"))
    assert result.status == compat.TaskResultStatus.FAILED
    assert "left open and is rolled back" in result.errors[0].traceback
    assert finished(async_tasks.create_group.enqueue("kept")).status == compat.TaskResultStatus.SUCCESSFUL
    assert [group.name for group in Group.objects.all()] == ["kept"]


def test_an_atomic_async_task_has_its_transaction_on_a_thread_of_the_pool(serving):
    serving()
    assert finished(async_tasks.create_group_atomically.enqueue("kept")).return_value.startswith("locqueue-slot")
    assert Group.objects.get().name == "kept"


def test_an_atomic_async_task_that_fails_leaves_no_work(serving):
    serving()
    result = finished(async_tasks.create_group_atomically.enqueue("lost", "raise"))
    assert result.status == compat.TaskResultStatus.FAILED
    assert not Group.objects.exists()


def test_receivers_of_signals_may_use_the_database(serving):
    seen = []

    def receiver(sender, task_result, **kwargs):
        seen.append((task_result.id, task_result.status, Group.objects.exists()))

    compat.task_started.connect(receiver)
    compat.task_finished.connect(receiver)
    try:
        serving()
        result = async_tasks.wait_at_gate.enqueue()
        async_tasks.gate.open()
        wait_until(lambda: len(seen) == 2)
    finally:
        compat.task_started.disconnect(receiver)
        compat.task_finished.disconnect(receiver)
    assert seen == [(result.id, "RUNNING", False), (result.id, "SUCCESSFUL", False)]


def test_a_person_cancels_an_async_task_in_mid_wait(serving, gate):
    result = async_tasks.wait_at_gate.enqueue()
    serving()
    assert gate.first.wait(10)
    assert result.cancel("no longer wanted")
    wait_until(lambda: row(result).state == State.CANCELLED)
    assert gate.cancelled == 1


def test_f3_an_async_task_is_cancelled_at_its_deadline(serving, gate):
    """F3: where it waits, on the loop."""
    serving()
    result = finished(async_tasks.wait_longer_than_its_timeout.enqueue())
    assert result.errors[0].exception_class_path == "django_locqueue.exceptions.TaskTimeout"
    assert gate.cancelled == 1


def test_f3_an_async_task_that_blocks_the_loop_is_given_up_and_the_loop_counts_as_stuck(serving, settings, monkeypatch):
    """F3: its outcome is recorded by us, its own end is void, and the loop goes on when it can."""
    monkeypatch.setattr(event_loop, "ASK_SECONDS", 0)
    monkeypatch.setattr(event_loop, "BLOCKED_SECONDS", 0)
    settings.LOCQUEUE["WORKER"]["TIMEOUT_GRACE_SECONDS"] = 0.1
    worker = serving()
    result = finished(async_tasks.block_the_loop_past_the_timeout.enqueue())
    assert result.errors[0].exception_class_path == "django_locqueue.exceptions.TaskTimeout"
    assert "blocking.wait(30)" in result.errors[0].traceback
    wait_until(lambda: worker.pool.stuck == 1)
    async_tasks.blocking.set()
    wait_until(lambda: worker.pool.stuck == 0)
    assert finished(async_tasks.create_group.enqueue("after")).status == compat.TaskResultStatus.SUCCESSFUL
    assert row(result).state == State.FAILED


def test_b2_async_tasks_that_outlast_the_grace_go_back_uncharged(serving, gate):
    """B2: they are cancelled where they wait, and another worker runs them."""
    results = [async_tasks.wait_at_gate.enqueue() for _ in range(5)]
    worker = serving(grace_seconds=0)
    wait_until(lambda: len(gate.waiting) == 5)
    worker.request_stop()
    assert worker.code() == 0
    assert gate.cancelled == 5
    assert {(row(result).state, row(result).attempt) for result in results} == {(State.READY, 0)}
