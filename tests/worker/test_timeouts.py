"""A task that runs too long is interrupted; one that does not obey loses its slot, and not the worker's."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from types import SimpleNamespace

import pytest

from django_locqueue import compat, signals
from django_locqueue.exceptions import TaskTimeout
from django_locqueue.models import State, Task, TaskAttempt
from django_locqueue.worker.interrupt import Interruptible
from django_locqueue.worker.slots import SlotTable
from django_locqueue.worker.watchdog import ENTERING_SECONDS, Watchdog
from tests import tasks, timed_tasks
from tests.processes import wait_until
from tests.running import row, run_next, run_one

pytestmark = pytest.mark.django_db(transaction=True)

TIMEOUT = "django_locqueue.exceptions.TaskTimeout"


@pytest.fixture(autouse=True)
def fast(settings):
    # A task that obeys has all the time that a busy machine needs to let it.
    worker = {"POLL_SECONDS": (0.01, 0.05), "TIMEOUT_GRACE_SECONDS": 60}
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": worker}
    for event in (timed_tasks.held, timed_tasks.came_back, timed_tasks.spinning):
        event.clear()
    yield
    timed_tasks.held.set()


@pytest.fixture
def no_patience(settings):
    """A task that does not obey is given up soon."""
    settings.LOCQUEUE["WORKER"]["TIMEOUT_GRACE_SECONDS"] = 0.2


def ends(result, state):
    wait_until(lambda: row(result).state == state)
    result.refresh()
    return result


def test_a_task_that_runs_too_long_is_failed_with_the_place_where_it_was(serving):
    result = timed_tasks.spin.enqueue()
    serving(threads=1)
    [error] = ends(result, State.FAILED).errors
    assert error.exception_class_path == TIMEOUT
    assert "ran longer than its timeout of 0.2 s" in error.traceback
    assert "in spin" in error.traceback


def test_a_task_that_catches_its_timeout_and_returns_is_successful(serving):
    result = timed_tasks.give_in.enqueue()
    worker = serving(threads=1)
    assert timed_tasks.spinning.wait(30)
    [execution] = worker.pool.executions
    execution.deadline = time.monotonic()
    worker.watchdog.watch(execution)
    assert ends(result, State.SUCCESSFUL).return_value == "tidied up"


@pytest.mark.parametrize(
    ("definition", "grace"),
    [(timed_tasks.spin_and_retry, 60), (timed_tasks.ignore_and_retry, 0.2)],
    ids=["obeyed", "given up"],
)
def test_a_timeout_is_tried_again_like_any_error(serving, settings, definition, grace):
    settings.LOCQUEUE["WORKER"]["TIMEOUT_GRACE_SECONDS"] = grace
    result = definition.enqueue()
    serving(threads=1)
    assert ends(result, State.SCHEDULED).errors[0].exception_class_path == TIMEOUT


def test_a_timeout_that_is_not_among_the_errors_to_retry_fails(serving):
    result = timed_tasks.spin_and_retry_others.enqueue()
    serving(threads=1)
    ends(result, State.FAILED)


def test_an_async_task_is_cancelled_at_its_deadline(serving):
    result = timed_tasks.sleep_async.enqueue()
    serving(threads=1)
    [error] = ends(result, State.FAILED).errors
    assert error.exception_class_path == TIMEOUT


def test_a_timeout_error_of_the_task_itself_is_told_as_such():
    result = run_one(timed_tasks.raise_timeout_error.enqueue())
    assert result.errors[0].exception_class_path == "builtins.TimeoutError"


def test_a_task_knows_how_much_time_is_left():
    assert 0 < run_one(timed_tasks.time_left.enqueue()).return_value <= 30


def test_the_backend_says_the_timeout_of_tasks_that_say_none(settings):
    ours = settings.TASKS["default"]
    assert run_one(timed_tasks.has_deadline.enqueue()).return_value is False
    settings.TASKS = {"default": {**ours, "OPTIONS": {"TIMEOUT": 30}}}
    assert run_one(timed_tasks.has_deadline.enqueue()).return_value is True
    assert run_one(timed_tasks.never.enqueue()).return_value is False


def test_a_task_that_is_in_time_is_left_alone(serving):
    worker = serving(threads=1)
    results = [timed_tasks.in_time.enqueue() for _ in range(5)]
    for result in results:
        ends(result, State.SUCCESSFUL)
    assert worker.watchdog.run_once() > 50


def test_f3_a_task_that_does_not_end_is_given_up_and_its_slot_goes_on(no_patience, serving):
    result, canary = timed_tasks.ignore.enqueue(), tasks.add.enqueue(1)
    worker = serving(threads=2)
    [error] = ends(result, State.FAILED).errors
    assert error.exception_class_path == TIMEOUT
    assert "It does not end. It is here:" in error.traceback
    assert "held.wait(60)" in error.traceback
    ends(canary, State.SUCCESSFUL)
    assert (worker.pool.stuck, worker.pool.dead_threads, worker.pool.busy) == (1, 0, 0)
    # Both slots work: each of these two needs the other.
    tasks.gate.clear()
    waiting = tasks.wait_for_gate.enqueue()
    wait_until(lambda: row(waiting).state == State.RUNNING)
    ends(tasks.add.enqueue(2), State.SUCCESSFUL)
    tasks.gate.set()
    ends(waiting, State.SUCCESSFUL)


def test_the_grace_counts_from_the_interruption_also_after_the_process_was_stopped_for_an_hour():
    given_up = []
    tasks.add.enqueue(1)
    [execution] = run_next()
    execution.deadline = time.monotonic() - 3600
    watchdog = Watchdog(SimpleNamespace(executions=[execution]), given_up.append)
    watchdog.watch(execution)
    watchdog.run_once()
    assert given_up == []
    execution.give_up_at -= 60
    watchdog.watch(execution)
    watchdog.run_once()
    assert given_up == [execution]


def test_a_function_that_was_about_to_begin_at_its_deadline_is_interrupted_when_it_has():
    tasks.add.enqueue(1)
    [execution] = run_next()
    execution.deadline, execution.interruptible = time.monotonic(), Interruptible()
    watchdog = Watchdog(SimpleNamespace(executions=[execution]), lambda execution: None)
    watchdog.watch(execution)
    assert watchdog.run_once() <= ENTERING_SECONDS
    began, over = Event(), Event()
    with ThreadPoolExecutor(1) as slot:
        call = slot.submit(execution.interruptible.call, lambda: compute_until(over, began))
        assert began.wait(10)
        watchdog.watch(execution)
        watchdog.run_once()
        try:
            assert isinstance(call.exception(10), TaskTimeout)
        finally:
            over.set()


def compute_until(over, began):
    began.set()
    while not over.is_set():
        pass


def test_the_late_end_of_a_task_that_was_given_up_changes_nothing(no_patience, serving):
    announced = []
    result = timed_tasks.ignore.enqueue()

    def note(sender, claimed, outcome, **kwargs):
        announced.append(outcome.kind)

    signals.attempt_ended.connect(note)
    signals.lease_lost.connect(note)
    try:
        worker = serving(threads=2)
        ends(result, State.FAILED)
        timed_tasks.held.set()
        assert timed_tasks.came_back.wait(10)
        wait_until(lambda: worker.pool.stuck == 0)
        ends(tasks.add.enqueue(1), State.SUCCESSFUL)
        wait_until(lambda: len(announced) == 2)  # the outcome is stored before it is announced
    finally:
        signals.attempt_ended.disconnect(note)
        signals.lease_lost.disconnect(note)
    assert row(result).state == State.FAILED
    assert TaskAttempt.objects.filter(task_id=int(result.id)).count() == 1
    assert announced[0] == "failed"
    assert len(announced) == 2  # and the canary


def test_a_worker_that_has_lost_every_thread_leaves_and_says_so(no_patience, serving, caplog):
    timed_tasks.ignore.enqueue()
    worker = serving(threads=1)
    assert worker.code() == 1
    assert worker.is_stuck
    assert "1 tasks do not end, and keep their threads" in caplog.text
    assert not Task.objects.running().exists()


def test_a_worker_with_a_supervisor_leaves_for_one_lost_thread_and_is_to_be_replaced(no_patience, serving):
    timed_tasks.ignore.enqueue()
    table = SlotTable.create()
    table.parent = os.getppid()
    assert serving(threads=3, table=table).code() == 0
    assert table.retiring
    assert table.running() == set()
    assert table.pulse == 0


@pytest.mark.parametrize("value", [0, -1, "30", True, float("nan")])
def test_a_timeout_that_is_no_time_is_refused_by_name(value):
    with pytest.raises(compat.InvalidTask, match="timeout must be a number of seconds above 0, or None, got"):
        replace(tasks.add, timeout=value)


def test_the_text_of_a_timeout_says_its_seconds():
    assert str(TaskTimeout(2.5)) == "ran longer than its timeout of 2.5 s"
    assert str(TaskTimeout()) == "ran longer than its timeout"


def test_a_task_without_a_timeout_has_no_deadline():
    tasks.add.enqueue(1)
    [execution] = run_next()
    assert execution.deadline is None
