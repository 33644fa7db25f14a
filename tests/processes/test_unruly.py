"""What a task does to its process is the end of that task at most, or of the process; never of the queue."""

import pytest
from django.contrib.auth.models import Group

from django_locqueue.models import State, Task
from django_locqueue.store.serve import Owner
from tests import deadly_tasks, tasks
from tests.processes import wait_until
from tests.running import our_backend, row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True), pytest.mark.any_vendor]


@pytest.mark.parametrize("then", ["return", "raise", "exit"])
def test_a_child_that_leaves_a_transaction_of_its_parent_commits_and_spoils_nothing(run_fast_worker, ledger, then):
    result, canary = deadly_tasks.fork_in_a_transaction.enqueue(ledger.path, then), tasks.create_group.enqueue("canary")
    assert run_fast_worker("--drain", "--threads", "1").wait(60) == 0
    assert (row(result).state, row(canary).state) == (State.SUCCESSFUL, State.SUCCESSFUL)
    assert row(result).attempt == 1
    assert ledger.lines == ["parent"]
    assert sorted(Group.objects.values_list("name", flat=True)) == ["after the fork", "before the fork", "canary"]


def test_b5_a_segmentation_fault_is_a_crash_like_any_other(start_process, ledger):
    result = deadly_tasks.break_the_process_at_first.enqueue(ledger.path)
    supervisor = start_process("runqueue", "--processes", "2", env={"DJANGO_SETTINGS_MODULE": "tests.settings_fast"})
    wait_until(lambda: row(result).state == State.SUCCESSFUL, supervisor)
    assert row(result).crashes == 1
    supervisor.wait_for("A worker process ended with -11")


def test_a_task_that_closes_the_standard_streams_silences_the_worker_and_no_more(run_fast_worker):
    result = deadly_tasks.close_the_standard_streams.enqueue()
    worker = run_fast_worker("--threads", "1")
    wait_until(lambda: row(result).state == State.SUCCESSFUL, worker)
    failing, canary = tasks.fail.enqueue(), tasks.add.enqueue(1)
    wait_until(lambda: row(canary).state == State.SUCCESSFUL and row(failing).state == State.FAILED, worker)
    worker.signal()
    assert worker.wait(20) == 0


def test_f7_tasks_of_the_dead_take_no_slot_of_the_living(run_fast_worker):
    """F7."""
    store = our_backend().store
    for number in range(4):
        tasks.add.enqueue(number)
    dead = store.register_worker("dead:1", lease=600)
    assert len(store.claim(Owner(dead.pk, dead.name), 4)) == 4
    canary = tasks.add.enqueue(5)
    run_fast_worker("--threads", "2")
    wait_until(lambda: row(canary).state == State.SUCCESSFUL)
    assert Task.objects.running().count() == 4


def test_f8_what_a_person_changes_while_a_task_runs_is_still_there_when_it_has_ended(run_fast_worker, ledger):
    """F8."""
    result = tasks.wait_for_go.enqueue(ledger.path)
    worker = run_fast_worker()
    ledger.wait_for("start")
    Task.objects.filter(pk=int(result.id)).update(priority=42, metadata={"note": "by hand"})
    ledger.say("go")
    wait_until(lambda: row(result).state == State.SUCCESSFUL, worker)
    assert (row(result).priority, row(result).metadata) == (42, {"note": "by hand"})
