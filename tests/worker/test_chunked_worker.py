"""A whole worker whose tasks run in chunks."""

import threading
from contextlib import contextmanager

import pytest

from django_locqueue import group, signals
from django_locqueue.models import Limit, State, Task, Workflow
from tests import chunked_tasks
from tests.processes import wait_until
from tests.running import our_backend, row
from tests.worker.conftest import a_worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fast(settings):
    settings.LOCQUEUE = {
        **settings.LOCQUEUE,
        "WORKER": {"POLL_SECONDS": (0.01, 0.05), "TIMEOUT_GRACE_SECONDS": 0.2},
    }
    chunked_tasks.seen.clear()
    chunked_tasks.gate.clear()
    chunked_tasks.entered.clear()
    yield
    chunked_tasks.gate.set()


def enqueue(definition, *values):
    return list(definition.enqueue_many([((value,), {}) for value in values]))


def all_are(results, state):
    return all(row(result).state == state for result in results)


def test_what_waits_runs_in_calls_of_at_most_so_many(serving):
    results = enqueue(chunked_tasks.note, *range(12))
    serving(threads=1)
    wait_until(lambda: all_are(results, State.SUCCESSFUL))
    assert [[call.args[0] for call in calls] for calls in chunked_tasks.seen] == [
        [0, 1, 2, 3, 4],
        [5, 6, 7, 8, 9],
        [10, 11],
    ]


def test_a_full_chunk_waits_for_nobody_and_the_rest_for_others(serving):
    results = enqueue(chunked_tasks.note_when_full, *range(7))
    serving()
    wait_until(lambda: all_are(results[:5], State.SUCCESSFUL))
    assert all_are(results[5:], State.BLOCKED)
    results += enqueue(chunked_tasks.note_when_full, 7, 8, 9)
    wait_until(lambda: all_are(results, State.SUCCESSFUL))
    assert [len(calls) for calls in chunked_tasks.seen] == [5, 5]


def test_those_that_are_tried_again_are_a_chunk_of_their_own(serving):
    results = enqueue(chunked_tasks.retry_soon, *range(3))
    serving()
    wait_until(lambda: all_are(results, State.FAILED))
    assert [[call.attempt for call in calls] for calls in chunked_tasks.seen] == [[1] * 3, [2] * 3]


def test_an_async_chunk_runs_on_the_event_loop(serving):
    results = chunked_tasks.answer_async.enqueue_many([(("value", number), {}) for number in range(12)])
    serving()
    wait_until(lambda: all_are(results, State.SUCCESSFUL))
    assert [row(result).return_value for result in results] == list(range(12))


def test_a_chunk_that_ignores_its_timeout_is_given_up_and_its_slot_goes_on(serving):
    hanging = enqueue(chunked_tasks.hang, 1, 2)
    worker = serving(threads=2)
    wait_until(lambda: all_are(hanging, State.FAILED))
    others = enqueue(chunked_tasks.note, 1)
    wait_until(lambda: all_are(others, State.SUCCESSFUL))
    assert worker.pool.stuck_threads == 1
    assert {row(result).error_message for result in hanging} == {"ran longer than its timeout of 0.2 s"}


@contextmanager
def stopped_when_it_runs(worker):
    def stop():
        assert chunked_tasks.entered.wait(10)
        worker.request_stop()

    thread = threading.Thread(target=stop, name="test-stop")
    thread.start()
    yield
    thread.join()


def test_a_worker_that_leaves_gives_back_each_task_of_a_chunk_that_does_not_end():
    results = enqueue(chunked_tasks.wait_for_gate, 1, 2)
    worker = a_worker(grace_seconds=0)
    with stopped_when_it_runs(worker):
        worker.run()
    assert [(row(result).state, row(result).attempt) for result in results] == [(State.BLOCKED, 0)] * 2


def test_one_task_of_a_chunk_that_runs_can_be_cancelled(serving):
    asked, other = enqueue(chunked_tasks.wait_for_cancel, 1, 2)
    serving()
    assert chunked_tasks.entered.wait(10)
    our_backend().cancel([int(asked.id)], "not needed")
    wait_until(lambda: row(other).is_finished)
    assert (row(asked).state, row(asked).error_message) == (State.CANCELLED, "not needed")
    assert row(other).state == State.SUCCESSFUL


def test_each_task_of_a_chunk_is_announced(serving):
    heard = []

    def ended(sender, claimed, outcome, **kwargs):
        heard.append((claimed.id, outcome.kind))

    signals.attempt_ended.connect(ended)
    try:
        results = enqueue(chunked_tasks.fail_second, 1, 2, 3)
        serving()
        wait_until(lambda: len(heard) == 3)
    finally:
        signals.attempt_ended.disconnect(ended)
    kinds = ("successful", "failed", "successful")
    assert heard == [(int(result.id), kind) for result, kind in zip(results, kinds, strict=True)]


def test_a_rate_counts_calls_of_the_function(serving):
    results = enqueue(chunked_tasks.note_at_a_rate, *range(10))
    serving()
    wait_until(lambda: Task.objects.successful().count() == 5)
    assert len(chunked_tasks.seen) == 1
    assert all_are(results[5:], State.BLOCKED)


@pytest.mark.parametrize(("how", "is_paused"), [("raise", True), ("return", False)])
def test_a_retry_that_is_raised_pauses_the_rate_and_one_among_the_values_does_not(serving, how, is_paused):
    results = enqueue(chunked_tasks.retry_at_a_rate, how, how)
    serving()
    wait_until(lambda: all_are(results, State.SCHEDULED))
    assert (Limit.objects.get().paused_until is not None) is is_paused


def test_the_context_of_a_chunk_gives_its_rate_back(serving):
    results = enqueue(chunked_tasks.return_the_rate, *range(10))
    serving()
    wait_until(lambda: all_are(results, State.SUCCESSFUL))  # one an hour else
    assert {row(result).return_value for result in results} == {True}


def test_the_step_of_a_workflow_may_run_in_chunks(serving):
    calls = [chunked_tasks.answer.call("value", number) for number in range(3)]
    workflow = group(calls).then(chunked_tasks.note.call("after")).enqueue()
    serving()
    wait_until(lambda: Workflow.objects.get(pk=int(workflow.id)).state == "successful")
    assert [[call.args for call in calls] for calls in chunked_tasks.seen] == [
        [["value", 0], ["value", 1], ["value", 2]],
        [["after"]],
    ]
