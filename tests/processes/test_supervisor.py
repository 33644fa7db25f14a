"""Several worker processes under one parent."""

import signal

import pytest

from django_locqueue.models import State, Task, Worker
from tests import chunked_tasks, deadly_tasks, tasks
from tests.processes import wait_until
from tests.running import our_backend, row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True), pytest.mark.any_vendor]

TWO = ("--processes", "2", "--threads", "2", "--worker-id", "many")
WELL_BEFORE_THE_LEASE = 20  # of 30 seconds, on a busy machine


@pytest.fixture
def supervisor(start_process):
    """A supervisor of two processes with two threads each and the default lease."""
    process = start_process("runqueue", *TWO)
    wait_until(lambda: Worker.objects.count() == 2, process)
    return process


def test_its_processes_are_workers_of_their_own(supervisor):
    assert sorted(Worker.objects.values_list("name", flat=True)) == ["many/1", "many/2"]
    supervisor.wait_for("started worker=many queues=all slots=4")


def test_one_that_a_person_asks_to_stop_leaves_for_good_and_the_last_one_ends_it(start_process, tmp_path):
    beat = tmp_path / "beat"
    options = (*TWO, "--heartbeat-file", str(beat))
    supervisor = start_process("runqueue", *options, env={"DJANGO_SETTINGS_MODULE": "tests.settings_fast"})
    wait_until(lambda: Worker.objects.count() == 2, supervisor)
    first, second = Worker.objects.order_by("pk")
    our_backend().store.ask_worker_to_stop(first.pk)
    supervisor.wait_for("none takes its place")
    assert Worker.objects.get(stopped_at=None) == second
    beat.unlink()
    wait_until(beat.exists, supervisor)  # it is well without the one that has left
    our_backend().store.ask_worker_to_stop(second.pk)
    assert supervisor.wait() == 0


def test_a_stop_signal_lets_the_tasks_of_all_processes_finish(supervisor, ledger):
    results = [tasks.wait_for_go.enqueue(ledger.path) for _ in range(3)]
    ledger.wait_for("start", times=3)  # what is claimed and has not begun would be given back
    supervisor.signal(signal.SIGTERM)
    supervisor.wait_for("finishing ")
    ledger.say("go")
    assert supervisor.wait(20) == 0
    assert [row(result).state for result in results] == [State.SUCCESSFUL] * 3
    assert not Worker.objects.filter(stopped_at=None).exists()


def test_a_dead_child_is_noticed_its_tasks_run_again_and_it_is_replaced(supervisor, ledger):
    result = deadly_tasks.die_at_first.enqueue(ledger.path)
    ledger.wait_for("start", times=2, timeout=WELL_BEFORE_THE_LEASE)
    wait_until(lambda: row(result).state == State.SUCCESSFUL)
    assert row(result).crashes == 1
    supervisor.wait_for("another starts in 0.1 s")  # each time: its task is charged, the others need not wait
    wait_until(lambda: Worker.objects.filter(stopped_at=None).count() == 2)


def test_children_leave_when_their_supervisor_was_killed(supervisor):
    supervisor.kill()
    wait_until(lambda: not Worker.objects.filter(stopped_at=None).exists())


def test_draining_processes_leave_when_nothing_is_left(start_process):
    tasks.add.enqueue_many([((number,), {}) for number in range(200)])
    assert start_process("runqueue", *TWO, "--drain").wait(60) == 0
    assert Task.objects.successful().count() == 200


def test_a_child_that_dies_while_draining_is_replaced(start_process, ledger):
    result = deadly_tasks.die_at_first.enqueue(ledger.path)
    assert start_process("runqueue", *TWO, "--drain").wait(60) == 0
    assert row(result).state == State.SUCCESSFUL


def test_a_child_that_a_task_has_ended_by_itself_is_noticed_too(supervisor, ledger):
    result = deadly_tasks.exit_process_at_first.enqueue(ledger.path)
    ledger.wait_for("start", times=2, timeout=WELL_BEFORE_THE_LEASE)
    wait_until(lambda: row(result).state == State.SUCCESSFUL)
    assert row(result).crashes == 1


def test_each_task_of_a_chunk_that_ran_in_a_dead_process_is_charged_and_runs_again(supervisor, ledger):
    results = chunked_tasks.die_at_first.enqueue_many([((ledger.path,), {}) for _ in range(5)])
    ledger.wait_for("start 5", times=2, timeout=WELL_BEFORE_THE_LEASE)
    wait_until(lambda: all(row(result).state == State.SUCCESSFUL for result in results))
    assert {(row(result).crashes, row(result).attempt, row(result).return_value) for result in results} == {(1, 2, 5)}
