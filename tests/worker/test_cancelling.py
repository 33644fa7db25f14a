"""A running task that somebody cancels hears of it at once, is interrupted, and ends with who and why."""

import pytest
from django.contrib.auth.models import Group
from django.db import connection

from django_locqueue import compat
from django_locqueue.models import State, TaskAttempt
from django_locqueue.policies.outcome import Kind
from django_locqueue.worker.execution import Execution, StopReason
from django_locqueue.worker.executor import Executor
from tests import cancelled_tasks, tasks
from tests.processes import wait_until
from tests.running import claim_next, in_thread, our_backend, row

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fast(settings):
    worker = {"POLL_SECONDS": (0.01, 0.05), "CANCEL_GRACE_SECONDS": 60}
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": worker}
    cancelled_tasks.began.clear()
    cancelled_tasks.held.clear()
    yield settings.LOCQUEUE["WORKER"]
    cancelled_tasks.held.set()


@pytest.fixture
def cancelling(serving):
    """Return a function that runs a task, cancels it while it runs, and returns its row when it has ended."""

    def cancel(definition, *args, **options):
        if definition.atomic and connection.vendor == "sqlite":
            pytest.skip("its transaction holds the one write lock: no request to cancel it can be written meanwhile")
        result = definition.enqueue(*args)
        worker = serving(threads=1, **options)
        assert cancelled_tasks.began.wait(10)
        assert result.cancel("wrong month", by="alice")
        worker.maintenance.wake()  # it looks once a second
        wait_until(lambda: row(result).is_finished)
        return row(result)

    return cancel


@pytest.mark.parametrize(
    "name", ["compute", "compute_with_attempts_left", "wait_async", "wait_async_atomically", "leave_when_asked"]
)
def test_a_running_task_that_is_cancelled_ends_with_who_and_why(cancelling, name):
    ended = cancelling(getattr(cancelled_tasks, name))
    assert (ended.state, ended.error_message) == (State.CANCELLED, "by alice: wrong month")
    assert TaskAttempt.objects.get(task=ended).outcome == "cancelled"


def test_one_that_takes_a_context_and_does_not_ask_is_interrupted_after_its_grace(cancelling, fast):
    fast["CANCEL_GRACE_SECONDS"] = 0.05
    assert cancelling(cancelled_tasks.ask_for_nothing).state == State.CANCELLED


def test_the_place_where_it_was_interrupted_is_in_its_attempt(cancelling):
    ended = cancelling(cancelled_tasks.compute)
    assert "in compute" in TaskAttempt.objects.get(task=ended).traceback


def test_a_task_that_catches_its_interruption_and_returns_is_successful(cancelling):
    ended = cancelling(cancelled_tasks.tidy_up)
    assert (ended.state, ended.return_value) == (State.SUCCESSFUL, "tidied up")


def test_what_an_atomic_task_wrote_before_it_was_cancelled_is_rolled_back(cancelling):
    assert cancelling(cancelled_tasks.write_atomically, "half done").state == State.CANCELLED
    assert not Group.objects.filter(name="half done").exists()


def test_a_task_that_cannot_be_interrupted_is_not_killed_and_ends_as_it_ends(serving):
    result, canary = cancelled_tasks.hear_nothing.enqueue(), tasks.add.enqueue(1)
    worker = serving(threads=2)
    assert cancelled_tasks.began.wait(10)
    result.cancel()
    worker.maintenance.wake()
    [execution] = [each for each in worker.pool.executions if each.claimed.id == int(result.id)]
    wait_until(lambda: execution.stop_reason is not None and execution.interrupt_at is None)
    wait_until(lambda: row(canary).state == State.SUCCESSFUL)
    assert row(result).state == State.RUNNING
    cancelled_tasks.held.set()
    wait_until(lambda: row(result).is_finished)
    assert row(result).state == State.SUCCESSFUL


def test_a_chunk_is_interrupted_when_all_of_its_tasks_are_cancelled(serving, fast):
    fast["CANCEL_GRACE_SECONDS"] = 0.05
    first, second = cancelled_tasks.compute_in_chunks.enqueue_many([((), {}), ((), {})])
    worker = serving(threads=1)
    assert cancelled_tasks.began.wait(10)
    first.cancel("wrong month")
    worker.maintenance.wake()
    [chunk] = worker.pool.executions
    wait_until(lambda: chunk.members[0].stop_reason is not None)
    assert (chunk.interrupt_at, row(second).state) == (None, State.RUNNING)
    second.cancel("that too")
    worker.maintenance.wake()
    wait_until(lambda: row(first).is_finished and row(second).is_finished)
    assert [(row(each).state, row(each).error_message) for each in (first, second)] == [
        (State.CANCELLED, "wrong month"),
        (State.CANCELLED, "that too"),
    ]


def test_a_task_goes_on_after_its_lease_was_in_doubt_and_can_be_cancelled_then(serving):
    result = cancelled_tasks.compute.enqueue()
    worker = serving(threads=1)
    assert cancelled_tasks.began.wait(10)
    worker.pool.ask_to_stop(StopReason.LEASE_LOST)  # which this one does not ask for
    assert result.cancel("wrong month")
    worker.maintenance.wake()
    wait_until(lambda: row(result).is_finished)
    assert row(result).state == State.CANCELLED


def test_an_interruption_does_not_meet_the_next_task(cancelling):
    cancelling(cancelled_tasks.compute)
    canary = tasks.add.enqueue(1, 2)
    wait_until(lambda: row(canary).is_finished)
    assert row(canary).return_value == 3


def test_a_task_that_is_cancelled_just_before_its_function_begins_is_not_begun():
    tasks.wait_for_gate.enqueue()
    execution = Execution(in_thread(claim_next))

    def cancel(sender, **kwargs):
        execution.ask_to_stop(StopReason.CANCELLED)

    compat.task_started.connect(cancel)
    try:
        in_thread(lambda: Executor(our_backend()).run(execution))
    finally:
        compat.task_started.disconnect(cancel)
    assert execution.outcome.kind is Kind.CANCELLED
