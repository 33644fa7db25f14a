"""Async tasks in a real worker process."""

import signal

import pytest

from django_locqueue.models import State, Task, Worker
from tests import async_tasks, tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True), pytest.mark.any_vendor]


def test_b2_a_hundred_async_tasks_beside_one_thread_are_cancelled_and_given_back(run_fast_worker, ledger):
    """B2: after the grace time each is cancelled where it waits, and charged nothing."""
    async_tasks.note_and_wait.enqueue_many([((ledger.path,), {}) for _ in range(100)])
    worker = run_fast_worker("--threads", "1", "--grace", "0.2")
    ledger.wait_for("start", times=100)
    worker.signal(signal.SIGTERM)
    assert worker.wait(15) == 0
    assert ledger.lines.count("cancelled") == 100
    assert set(Task.objects.values_list("state", "attempt", "crashes")) == {(State.READY, 0, 0)}


def test_b5_an_async_task_whose_process_dies_is_charged_a_crash(start_process, ledger):
    """B5: the supervisor sees that it ran."""
    result = async_tasks.die_at_first.enqueue(ledger.path)
    start_process("runqueue", "--processes", "2", "--threads", "1", "--worker-id", "many")
    ledger.wait_for("start", times=2)
    wait_until(lambda: row(result).state == State.SUCCESSFUL)
    assert row(result).crashes == 1


def test_a_task_that_blocks_the_loop_costs_neither_the_lease_nor_the_threads(run_fast_worker, ledger):
    result = async_tasks.block_until_written.enqueue(ledger.path)
    worker = run_fast_worker()
    ledger.wait_for("start")
    worker.wait_for("has been held up")  # for longer than the lease of one second
    tasks.note.enqueue(ledger.path)
    wait_until(lambda: row(result).state == State.SUCCESSFUL)
    assert row(result).crashes == 0
    assert Worker.objects.get().stopped_at is None
