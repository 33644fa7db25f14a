"""The lease is kept for as long as a worker lives, whatever its tasks do; who was silent for too long is refused."""

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from django_locqueue.clock import DatabaseNow
from django_locqueue.models import State, Task, TaskAttempt, Worker
from tests import deadly_tasks, tasks
from tests.processes import wait_until
from tests.running import our_backend, row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

LEASE = 1  # of tests.settings_fast


def test_a2_a_task_that_outlasts_many_leases_is_started_once(run_fast_worker, ledger):
    """A2."""
    results = [
        definition.enqueue(ledger.path, 4 * LEASE)
        for definition in (tasks.note_and_sleep, deadly_tasks.compute, deadly_tasks.query)
    ]
    first = run_fast_worker("--threads", "3")
    ledger.wait_for("start", times=3)
    second = run_fast_worker("--threads", "3")
    wait_until(lambda: Task.objects.successful().count() == 3)
    assert ledger.lines.count("start") == 3
    assert {(row(result).attempt, row(result).crashes) for result in results} == {(1, 0)}
    assert "rescue" not in first.output + second.output


@pytest.fixture
def stalled(run_fast_worker, ledger):
    """A task whose worker was stopped in its midst, and which another has begun again."""
    result = tasks.note_and_sleep.enqueue(ledger.path, 2.5)
    first = run_fast_worker("--threads", "1", "--worker-id", "first")
    ledger.wait_for("start")
    first.signal(signal.SIGSTOP)
    second = run_fast_worker("--threads", "1", "--worker-id", "second")
    ledger.wait_for("start", times=2)
    return result, first, second


def assert_the_second_has_done_it(result, first, ledger):
    first.wait_for("lease lost")
    wait_until(lambda: row(result).state == State.SUCCESSFUL)
    assert (row(result).worker_ids, row(result).attempt, row(result).crashes) == ("first\nsecond\n", 2, 1)
    assert ledger.lines.count("start") == 2
    # And it goes on working.
    later = [tasks.note_and_sleep.enqueue(ledger.path, 1) for _ in range(2)]
    wait_until(lambda: all(row(each).state == State.SUCCESSFUL for each in later))
    assert {row(each).worker_ids for each in later} == {"first\n", "second\n"}


def test_b3_a_worker_that_wakes_when_another_has_done_its_task_changes_nothing(stalled, ledger):
    """B3."""
    result, first, _ = stalled
    wait_until(lambda: row(result).state == State.SUCCESSFUL)
    first.signal(signal.SIGCONT)
    assert_the_second_has_done_it(result, first, ledger)


@pytest.mark.any_vendor
def test_b3_a_worker_that_wakes_and_ends_first_changes_nothing(stalled, ledger):
    """B3, in the other order: its sleep began earlier, and is over before the other's."""
    result, first, _ = stalled
    first.signal(signal.SIGCONT)
    assert_the_second_has_done_it(result, first, ledger)


@pytest.mark.any_vendor
def test_b8_a_worker_whose_row_is_gone_registers_anew_and_goes_on(run_fast_worker, ledger):
    """B8: a person deletes its row."""
    run_fast_worker("--worker-id", "w").wait_for("started")  # it has read its row by now
    before = Worker.objects.get().pk
    Worker.objects.all().delete()
    wait_until(lambda: Worker.objects.live(DatabaseNow()).exclude(pk=before).exists())
    tasks.note.enqueue(ledger.path)
    ledger.wait_for("run")


SERVICES = ["locqueue-dispatcher", "locqueue-acker", "locqueue-heartbeat", "locqueue-maintenance"]


@pytest.mark.any_vendor
@pytest.mark.parametrize("name", SERVICES)
def test_b8_a_worker_whose_thread_has_died_leaves_with_1(run_fast_worker, name):
    """B8."""
    worker = run_fast_worker("--threads", "2", wait=False)
    deadly_tasks.end_thread.enqueue(name)
    assert worker.wait() == 1
    assert "Leaving, because this stopped" in worker.output


@pytest.mark.any_vendor
def test_b8_a_child_whose_thread_has_died_is_replaced(start_process):
    """B8."""
    supervisor = start_process("runqueue", "--processes", "2", env={"DJANGO_SETTINGS_MODULE": "tests.settings_fast"})
    wait_until(lambda: Worker.objects.count() == 2, supervisor)
    deadly_tasks.end_thread.enqueue("locqueue-heartbeat")
    supervisor.wait_for("A worker process ended with 1")
    wait_until(lambda: Worker.objects.live(DatabaseNow()).count() == 2 and Worker.objects.count() == 3, supervisor)


@pytest.mark.any_vendor
def test_the_death_of_a_child_is_noticed_and_its_tasks_are_back_within_a_second(start_process, ledger):
    """By the database's clock. The lease of 30 seconds has no part in it."""
    supervisor = start_process("runqueue", "--processes", "2", "--threads", "2")
    wait_until(lambda: Worker.objects.count() == 2, supervisor)
    result = tasks.sleep_at_first.enqueue(ledger.path, 60)
    ledger.wait_for("start")
    name = Worker.objects.get(pk=row(result).worker_id).name
    [child] = [pid for pid in supervisor.children if name in Path(f"/proc/{pid}/cmdline").read_text().split("\0")]
    killed = our_backend().store.now()
    os.kill(child, signal.SIGKILL)
    wait_until(lambda: row(result).crashes == 1)
    taken_back = TaskAttempt.objects.get(task_id=int(result.id)).finished_at
    assert taken_back - killed < timedelta(seconds=1 + 4)  # four are for a busy machine
