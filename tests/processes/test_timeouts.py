"""Tasks that hang, in real processes (F2, F3)."""

import pytest

from django_locqueue.models import FINISHED, State, Task, Worker
from tests import tasks, timed_tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True), pytest.mark.any_vendor]

GRACE = {"TEST_LOCQUEUE_WORKER": '{"TIMEOUT_GRACE_SECONDS": 0.5}'}
TIMEOUT = "django_locqueue.exceptions.TaskTimeout"
HOW = ["sleep", "socket", "loop", "lock"]


def pids(ledger):
    return [int(line.split()[1]) for line in ledger.lines if line.startswith("pid ")]


@pytest.mark.parametrize("processes", ["1", "2"])
def test_f3_hung_tasks_are_timed_out_and_the_rest_is_done(start_process, ledger, processes):
    # A worker that has lost all its threads leaves, and is started again as a service manager would.
    hung = [timed_tasks.hang.enqueue(ledger.path, how) for how in HOW]
    canaries = [tasks.add.enqueue(number) for number in range(20)]
    env = {**GRACE, "DJANGO_SETTINGS_MODULE": "tests.settings_fast"}
    command = ("runqueue", "--no-reload", "--processes", processes, "--threads", "2")
    started = []

    def done():
        if not started or not started[-1].is_running:
            started.append(start_process(*command, env=env))
        return not Task.objects.exclude(state__in=FINISHED).exists()

    wait_until(done, timeout=120)
    for result in hung:
        result.refresh()
        assert [error.exception_class_path for error in result.errors] == [TIMEOUT]
    assert all(row(result).state == State.SUCCESSFUL for result in canaries)
    assert sorted(ledger.lines) == sorted(f"{how} begins" for how in HOW)
    assert not [line for line in ledger.lines if line.endswith("ends")]
    if processes == "1":
        assert all(process.wait(20) == 1 for process in started[:-1])
    else:
        assert len(started) == 1


def test_a_process_that_lost_a_thread_is_replaced_and_tasks_beside_it_finish(start_process, ledger):
    hung = timed_tasks.hang.enqueue(ledger.path, "sleep")
    beside = tasks.wait_for_go.enqueue(ledger.path)
    env = {**GRACE, "DJANGO_SETTINGS_MODULE": "tests.settings_fast"}
    options = ("--no-reload", "--processes", "2", "--threads", "2", "--queue", "default")
    supervisor = start_process("runqueue", *options, env=env)
    ledger.wait_for("start")
    wait_until(lambda: row(hung).state == State.FAILED, supervisor)
    ledger.say("go")
    wait_until(lambda: row(beside).state == State.SUCCESSFUL, supervisor)
    supervisor.wait_for("A worker process has left; another takes its place.")
    assert "another starts in" not in supervisor.output
    assert (row(beside).attempt, row(beside).crashes) == (1, 0)
    wait_until(lambda: Worker.objects.filter(stopped_at=None).count() == 2)


def test_a_process_in_which_nothing_can_run_is_killed_and_its_task_charged_a_crash(start_process, ledger):
    result = timed_tasks.hold_python.enqueue(ledger.path)
    Task.objects.update(crashes=2)  # the third is the last
    supervisor = start_process("runqueue", "--processes", "2", env={"DJANGO_SETTINGS_MODULE": "tests.settings_fast"})
    supervisor.wait_for("has been silent for 1 s and is killed")
    wait_until(lambda: row(result).state == State.FAILED, supervisor)
    assert row(result).crashes == 3
    assert ledger.lines == ["start"]
    canary = tasks.add.enqueue(1)
    wait_until(lambda: row(canary).state == State.SUCCESSFUL, supervisor)


def test_f2_timeouts_work_on_four_threads_of_one_process(run_fast_worker):
    results = [timed_tasks.spin.enqueue() for _ in range(8)]
    canary = tasks.add.enqueue(1)
    worker = run_fast_worker("--drain", "--threads", "4")
    assert worker.wait(60) == 0
    for result in results:
        result.refresh()
        assert [error.exception_class_path for error in result.errors] == [TIMEOUT]
    assert row(canary).state == State.SUCCESSFUL
    assert "ValueError" not in worker.output
