"""Processes that leave when they have done enough, and what a probe and a start-up order need."""

import os
import signal
from pathlib import Path

import pytest

from django_locqueue.models import State, Task, Worker
from tests import deadly_tasks, tasks, timed_tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True), pytest.mark.any_vendor]

FAST = {"DJANGO_SETTINGS_MODULE": "tests.settings_fast"}


def pids(ledger):
    return [int(line.split()[1]) for line in ledger.lines if line.startswith("pid ")]


def test_a_worker_leaves_after_its_number_of_tasks_and_claims_no_more(run_fast_worker):
    tasks.add.enqueue_many([((number,), {}) for number in range(50)])
    worker = run_fast_worker("--max-tasks", "7", "--threads", "3", wait=False)
    assert worker.wait() == 0
    assert "Leaving, because it has run 7 tasks (--max-tasks)." in worker.output
    assert (Task.objects.successful().count(), Task.objects.ready().count()) == (7, 43)


def test_a_worker_leaves_after_its_time_and_lets_tasks_finish(run_fast_worker, ledger):
    result = tasks.wait_for_go.enqueue(ledger.path)
    worker = run_fast_worker("--max-time", "2", wait=False)
    worker.wait_for("(--max-time)")
    worker.wait_for("finishing 1 task")
    ledger.say("go")
    assert worker.wait() == 0
    assert row(result).state == State.SUCCESSFUL


def test_a_worker_leaves_when_it_holds_too_much_memory(run_fast_worker):
    result = deadly_tasks.hoard.enqueue(300)
    worker = run_fast_worker("--max-rss", "250", wait=False)
    assert worker.wait() == 0
    assert "MB of memory (--max-rss)" in worker.output
    assert row(result).state == State.SUCCESSFUL


def test_a_supervisor_replaces_at_once_what_has_left_at_a_limit(start_process, ledger):
    results = [timed_tasks.note_pid.enqueue(ledger.path) for _ in range(12)]
    options = ("--processes", "2", "--threads", "1", "--max-tasks", "2", "--drain")
    supervisor = start_process("runqueue", *options, env=FAST)
    assert supervisor.wait(120) == 0
    assert all(row(result).state == State.SUCCESSFUL for result in results)
    used = pids(ledger)
    assert max(used.count(pid) for pid in used) <= 2
    assert "another starts in" not in supervisor.output


def test_the_heartbeat_file_is_fresh_while_the_worker_beats_and_gone_afterwards(run_fast_worker, tmp_path):
    path = tmp_path / "alive"
    worker = run_fast_worker("--heartbeat-file", str(path))
    first = path.stat().st_mtime_ns
    wait_until(lambda: path.stat().st_mtime_ns > first, worker)
    worker.signal(signal.SIGTERM)
    assert worker.wait() == 0
    assert not path.exists()


def test_the_heartbeat_file_of_several_processes_is_old_when_one_of_them_is_silent(start_process, tmp_path):
    path = tmp_path / "alive"
    env = {"TEST_LOCQUEUE_WORKER": '{"LEASE_SECONDS": 60, "HEARTBEAT_SECONDS": 0.2}', **FAST}
    supervisor = start_process("runqueue", "--processes", "2", "--heartbeat-file", str(path), env=env)
    wait_until(lambda: Worker.objects.count() == 2, supervisor)
    first = path.stat().st_mtime_ns
    wait_until(lambda: path.stat().st_mtime_ns > first, supervisor)
    child = children_of(supervisor.pid)[0]
    os.kill(child, signal.SIGSTOP)
    try:
        beats = Worker.objects.order_by("-heartbeat_at")
        wait_until(lambda: path.stat().st_mtime_ns == path.stat().st_mtime_ns)
        stopped = path.stat().st_mtime_ns
        for _ in range(3):  # beats of the other process
            before = beats[0].heartbeat_at
            wait_until(lambda: beats[0].heartbeat_at > before, supervisor)  # noqa: B023
        # The one that was under way when it was stopped, and no more.
        again = path.stat().st_mtime_ns
        before = beats[0].heartbeat_at
        wait_until(lambda: beats[0].heartbeat_at > before, supervisor)
        assert path.stat().st_mtime_ns == again >= stopped
    finally:
        os.kill(child, signal.SIGCONT)
    wait_until(lambda: path.stat().st_mtime_ns > again, supervisor)


def children_of(pid):
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(each) for each in text.split()]


def test_a_worker_waits_for_a_database_that_comes_later(start_process, tmp_path):
    place = tmp_path / "later" / "queue.sqlite3"
    worker = start_process("runqueue", "--drain", "--wait-for-db", "60", env={**FAST, "TEST_DATABASE_NAME": str(place)})
    worker.wait_for("Waiting up to 60 s for the database “default”")
    place.parent.mkdir()
    migrate = start_process("migrate", env={**FAST, "TEST_DATABASE_NAME": str(place)})
    assert migrate.wait(60) == 0
    assert worker.wait(60) == 0


def test_f1_memory_does_not_grow_with_the_tasks(start_process):
    """F1: what a task leaves in the process is bounded, with DEBUG on too."""
    results = [deadly_tasks.read_much.enqueue(number) for number in range(900)]
    worker = start_process("runqueue", "--drain", "--threads", "2", "--no-reload", env={**FAST, "TEST_DEBUG": "on"})
    assert worker.wait(180) == 0
    sizes = [row(result).return_value for result in results]
    sizes = [float(size) for size in sizes if size is not None]
    assert len(sizes) > 700
    settled, last = max(sizes[200:350]), max(sizes[-200:])
    assert last - settled < 5, f"{settled:.0f} MB after 350 tasks, {last:.0f} MB after {len(results)}"
