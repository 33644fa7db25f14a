"""What one task leaves on its thread is not met by the next."""

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from django_locqueue import compat
from django_locqueue.models import State
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor
from tests import tasks, unruly_tasks
from tests.running import claim_next, in_thread, our_backend, perform, row, run_next

pytestmark = pytest.mark.django_db(transaction=True)

SUCCESSFUL = compat.TaskResultStatus.SUCCESSFUL


def run_with_canary(definition, *args):
    """Run a task and, on the same thread, one that writes. Return the first's result."""
    result = definition.enqueue(*args)
    canary = tasks.create_group.enqueue("canary")
    run_next(2)
    result.refresh()
    canary.refresh()
    assert canary.status == SUCCESSFUL
    assert Group.objects.filter(name="canary").exists()
    return result


def test_e5_an_error_that_was_swallowed_in_a_transaction_spoils_that_task_alone():
    result = run_with_canary(unruly_tasks.swallow_an_error_in_atomic, "x")
    assert result.status in (SUCCESSFUL, compat.TaskResultStatus.FAILED)  # SQLite goes on, PostgreSQL cannot
    assert result.is_finished


@pytest.mark.parametrize("name", ["leave_autocommit_off", "leave_raw_begin", "leave_an_open_atomic_block"])
def test_e5_what_a_task_leaves_uncommitted_is_rolled_back(name):
    assert run_with_canary(getattr(unruly_tasks, name), "leftover").status == SUCCESSFUL
    assert not Group.objects.filter(name="leftover").exists()


@pytest.mark.parametrize("name", ["close_the_connection", "close_the_driver_connection"])
def test_a_connection_that_a_task_closed_is_opened_again(name):
    assert run_with_canary(getattr(unruly_tasks, name)).status == SUCCESSFUL


def test_an_atomic_task_commits_its_work_and_its_outcome():
    result = run_with_canary(tasks.create_group_atomically, "kept")
    assert (result.status, result.return_value) == (SUCCESSFUL, "kept")
    assert Group.objects.filter(name="kept").exists()


@pytest.mark.parametrize("then", ["fail", "exit", "unstorable"])
def test_an_atomic_task_that_fails_leaves_no_work(then):
    result = run_with_canary(tasks.create_group_atomically, "lost", then)
    assert result.status == compat.TaskResultStatus.FAILED
    assert not Group.objects.filter(name="lost").exists()


def test_an_atomic_task_that_snoozes_leaves_no_work():
    result = run_with_canary(tasks.create_group_atomically, "lost", "snooze")
    assert row(result).state == State.SCHEDULED
    assert not Group.objects.filter(name="lost").exists()


def test_an_atomic_task_that_lost_its_lease_leaves_no_work():
    result = tasks.create_group_atomically.enqueue("lost")

    def run():
        claimed = claim_next()
        stale = Execution(claimed._replace(claim_no=claimed.claim_no - 1))  # another has claimed it since
        perform([stale])
        return stale

    stale = in_thread(run)
    assert stale.written is None
    assert row(result).state == State.RUNNING
    assert not Group.objects.filter(name="lost").exists()


def test_an_atomic_outcome_is_written_once():
    tasks.create_group_atomically.enqueue("kept")
    [execution] = run_next()
    assert execution.written == State.SUCCESSFUL


def test_a_plain_task_that_fails_keeps_what_it_committed():
    tasks.create_group.enqueue("kept")
    tasks.fail.enqueue()
    run_next(2)
    assert Group.objects.filter(name="kept").exists()


DEFAULTS = ["en", "UTC", "plain", 28, None]


@pytest.mark.parametrize(
    "look", [unruly_tasks.look_at_the_thread, unruly_tasks.look_at_the_thread_async], ids=["sync", "async"]
)
@pytest.mark.parametrize(
    ("change", "args"),
    [
        (unruly_tasks.change_the_thread, ()),
        (unruly_tasks.change_the_thread, ("raise",)),
        (unruly_tasks.change_the_thread_async, ()),
        (unruly_tasks.change_the_thread_and_run_too_long, ()),
    ],
    ids=["returns", "raises", "async", "times out"],
)
def test_f5_a_task_begins_with_the_defaults_whatever_ran_before(change, args, look):
    change.enqueue(*args)
    result = look.enqueue()
    run_next(2)
    result.refresh()
    assert result.return_value == DEFAULTS


def test_the_query_log_does_not_grow(settings):
    settings.DEBUG = True

    def queries_logged():
        tasks.create_group.enqueue("x")
        Executor(our_backend()).run(Execution(claim_next()))
        return len(connection.queries_log)

    assert in_thread(queries_logged) == 0
