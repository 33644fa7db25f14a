"""A worker that dies takes no task with it."""

import pytest
from django.db import connection, transaction

from django_locqueue.models import FINISHED, State, Task, TaskAttempt
from django_locqueue.store.serve import Owner
from tests import deadly_tasks, tasks, timed_tasks
from tests.processes import wait_until
from tests.running import our_backend, row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

LEASE_AND_SWEEP = 1 + 0.4  # of tests.settings_fast
SLACK = 10  # the machine is busy


def test_b1_another_worker_runs_the_task_of_one_that_was_killed(run_fast_worker, ledger):
    result = tasks.sleep_at_first.enqueue(ledger.path, 60)
    first = run_fast_worker("--threads", "1", "--worker-id", "first")
    ledger.wait_for("start")
    second = run_fast_worker("--threads", "1", "--worker-id", "second")
    first.kill()
    ledger.wait_for("start", times=2, timeout=LEASE_AND_SWEEP + SLACK)
    wait_until(lambda: row(result).state == State.SUCCESSFUL)
    assert row(result).worker_ids == "first\nsecond\n"
    assert row(result).crashes == 1
    second.wait_for("worker first died while running it")


def test_a_worker_that_is_killed_while_it_writes_an_outcome_leaves_one_outcome(run_fast_worker, ledger):
    if connection.vendor != "postgresql":
        pytest.skip("shown by who waits for a row, which PostgreSQL tells")
    result = tasks.sleep_at_first.enqueue(ledger.path, 0.5)
    first = run_fast_worker("--threads", "1")
    ledger.wait_for("start")
    with transaction.atomic():
        assert Task.objects.select_for_update().get(pk=result.id).state == State.RUNNING
        wait_until(a_session_waits)
        first.kill()
    run_fast_worker("--threads", "1")
    wait_until(lambda: row(result).state == State.SUCCESSFUL)
    assert ledger.lines == ["start"] * row(result).claim_no


def a_session_waits():
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return cursor.fetchone()[0]


@pytest.mark.any_vendor
def test_a7_a_task_that_was_taken_back_goes_before_less_important_ones_that_came_meanwhile(run_fast_worker, ledger):
    """Case A7: one worker with one thread, and more to do than it can."""
    tasks.sleep_at_first.using(priority=10).enqueue(ledger.path, 60)
    first = run_fast_worker("--threads", "1")
    ledger.wait_for("start")
    timed_tasks.note_pid.enqueue_many([((ledger.path, 0.05), {})] * 1000)
    run_fast_worker("--threads", "1")
    first.kill()
    ledger.wait_for("start", times=2)
    assert Task.objects.ready().exists()


@pytest.mark.any_vendor
def test_a_new_worker_with_the_name_of_a_dead_one_takes_over_its_task(run_fast_worker, ledger):
    """A new container has the same host name and pid 1."""
    result = tasks.sleep_at_first.enqueue(ledger.path, 60)
    first = run_fast_worker("--threads", "1", "--worker-id", "host:1")
    ledger.wait_for("start")
    first.kill()
    run_fast_worker("--threads", "1", "--worker-id", "host:1")
    ledger.wait_for("start", times=2)
    wait_until(lambda: row(result).state == State.SUCCESSFUL)
    assert (row(result).worker_ids, row(result).crashes) == ("host:1\nhost:1\n", 1)


@pytest.mark.any_vendor
def test_b1_a_task_that_was_claimed_and_never_begun_is_run_too(run_fast_worker, ledger):
    tasks.note.enqueue(ledger.path)
    store = our_backend().store
    dead = store.register_worker("dead:1", lease=0.1)
    assert store.claim(Owner(dead.pk, dead.name), 1)
    run_fast_worker()
    ledger.wait_for("run", timeout=LEASE_AND_SWEEP + SLACK)


@pytest.mark.any_vendor
def test_b5_a_task_that_kills_its_workers_is_failed_and_others_are_done(run_fast_worker, ledger):
    result = deadly_tasks.kill_own_process.enqueue(ledger.path)
    canaries = [tasks.add.enqueue(number) for number in range(10)]
    deaths = 0
    while not row(result).is_finished:
        worker = run_fast_worker("--threads", "2")
        wait_until(lambda: not worker.is_running or row(result).is_finished)  # noqa: B023
        deaths += not worker.is_running
        assert deaths <= 3
    wait_until(lambda: not Task.objects.exclude(state__in=FINISHED).exists())
    assert ledger.lines == ["start"] * 3
    result.refresh()
    assert result.status == "FAILED"
    assert result.errors[-1].traceback == "The worker died while running it, 3 times."
    assert result.errors[-1].exception_class_path == "django_locqueue.exceptions.WorkerLost"
    assert Task.objects.successful().count() == len(canaries)
    assert TaskAttempt.objects.filter(task_id=int(result.id), outcome="crashed").count() == 3


@pytest.mark.any_vendor
@pytest.mark.parametrize("name", ["exit_with", "call_exit", "interrupt", "exit_async"])
def test_f4_exit_in_a_task_does_not_end_the_worker(run_fast_worker, name):
    result = getattr(tasks, name).enqueue()
    canary = tasks.add.enqueue(1)
    worker = run_fast_worker("--drain", "--threads", "1")
    assert worker.wait() == 0, worker.output
    assert (row(result).state, row(canary).state) == (State.FAILED, State.SUCCESSFUL)


@pytest.mark.any_vendor
def test_a_task_that_is_gone_from_the_code_does_not_end_the_worker(run_fast_worker):
    result, canary = tasks.add.enqueue(1), tasks.add.enqueue(2)
    Task.objects.filter(pk=int(result.id)).update(task_path="tests.removed.task")
    assert run_fast_worker("--drain", "--threads", "1").wait() == 0
    assert (row(result).state, row(canary).state) == (State.SCHEDULED, State.SUCCESSFUL)
    assert "tests.removed.task cannot be imported" in row(result).error_message


def test_a_child_that_a_task_forked_does_not_go_on_as_a_second_worker(run_fast_worker, ledger):
    deadly_tasks.fork_and_raise.enqueue(ledger.path)
    tasks.note.enqueue_many([((ledger.path, str(number)), {}) for number in range(100)])
    assert run_fast_worker("--drain", "--threads", "1").wait(60) == 0
    assert sorted(ledger.lines) == sorted(["forked", *map(str, range(100))])
