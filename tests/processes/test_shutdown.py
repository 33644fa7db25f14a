"""Signals: the first lets tasks finish, the second makes the worker leave."""

import signal
import time

import pytest

from django_locqueue.models import State, Worker
from tests import deadly_tasks, tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True), pytest.mark.any_vendor]


def assert_given_back(result):
    stored = row(result)
    assert (stored.state, stored.attempt, stored.worker_ids, stored.crashes) == (State.READY, 0, "", 0)


def test_b2_a_task_finishes_after_a_stop_signal(run_fast_worker, ledger):
    result = tasks.wait_for_go.enqueue(ledger.path)
    worker = run_fast_worker()
    ledger.wait_for("start")
    worker.signal(signal.SIGTERM)
    worker.wait_for("finishing 1 task")
    ledger.say("go")
    assert worker.wait() == 0
    assert ledger.lines == ["start", "go", "end"]
    assert row(result).state == State.SUCCESSFUL
    assert Worker.objects.get().stopped_at is not None


def test_b2_no_task_is_begun_after_a_stop_signal(run_fast_worker, ledger):
    tasks.wait_for_go.enqueue(ledger.path)
    worker = run_fast_worker("--threads", "2")
    ledger.wait_for("start")
    worker.signal(signal.SIGTERM)
    worker.wait_for("finishing 1 task")
    late = tasks.note.enqueue(ledger.path)
    ledger.say("go")
    assert worker.wait() == 0
    assert row(late).state == State.READY


def test_b2_a_task_that_outlasts_the_grace_time_is_given_back(run_fast_worker, ledger):
    result = tasks.note_and_sleep.enqueue(ledger.path, 60)
    worker = run_fast_worker("--grace", "0.5")
    ledger.wait_for("start")
    began = time.monotonic()
    worker.signal(signal.SIGTERM)
    assert worker.wait(10) == 0
    assert time.monotonic() - began < 8  # the grace time, a last word to the task, and a busy machine
    assert_given_back(result)
    assert "1 put back" in worker.output


def test_a_task_that_watches_for_the_stop_ends_by_itself(run_fast_worker):
    result = tasks.run_until_asked_to_stop.enqueue()
    worker = run_fast_worker("--grace", "0.2")
    wait_until(lambda: row(result).state == State.RUNNING)
    worker.signal(signal.SIGTERM)
    assert worker.wait(10) == 0
    assert_given_back(result)


def test_b2_what_was_given_back_is_run_by_the_next_worker_at_once(run_fast_worker, ledger):
    tasks.sleep_at_first.enqueue(ledger.path, 60)
    worker = run_fast_worker("--grace", "0")
    ledger.wait_for("start")
    worker.signal(signal.SIGTERM)
    assert worker.wait(10) == 0
    run_fast_worker(env={"TEST_LOCQUEUE_WORKER": '{"LEASE_SECONDS": 600}'})
    ledger.wait_for("start", times=2)


def test_an_idle_worker_leaves_at_once(run_fast_worker):
    worker = run_fast_worker()
    began = time.monotonic()
    worker.signal(signal.SIGTERM)
    assert worker.wait(10) == 0
    assert time.monotonic() - began < 5  # seconds; the grace time is 25


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"])
def test_a_second_signal_gives_the_task_back_and_leaves(run_fast_worker, ledger, number, code):
    result = tasks.note_and_sleep.enqueue(ledger.path, 60)
    worker = run_fast_worker("--grace", "60")
    ledger.wait_for("start")
    worker.signal(number)
    worker.wait_for("finishing 1 task")
    began = time.monotonic()
    worker.signal(number)
    assert worker.wait(10) == code
    assert time.monotonic() - began < 8  # seconds; the grace time is 60
    assert_given_back(result)


def test_sigquit_leaves_at_once(run_fast_worker, ledger):
    result = tasks.note_and_sleep.enqueue(ledger.path, 60)
    worker = run_fast_worker("--grace", "60")
    ledger.wait_for("start")
    worker.signal(signal.SIGQUIT)
    assert worker.wait(10) == 128 + signal.SIGQUIT
    assert_given_back(result)


def test_a_thread_that_a_task_left_behind_does_not_keep_the_process(run_fast_worker, ledger):
    deadly_tasks.leave_a_thread.enqueue(ledger.path)
    worker = run_fast_worker()
    ledger.wait_for("start")
    worker.signal(signal.SIGTERM)
    assert worker.wait(20) == 0
