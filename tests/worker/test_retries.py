"""When a failed try is followed by another, and how long it waits."""

import pytest

from django_locqueue.models import State, Task, TaskAttempt
from django_locqueue.policies.outcome import Kind
from tests import retried_tasks, tasks
from tests.processes import wait_until
from tests.running import make_ready, row, run_next

pytestmark = pytest.mark.django_db(transaction=True)

MAX = 3600


def outcome_of(definition, *args):
    definition.enqueue(*args)
    return run_next()[0].outcome


@pytest.mark.parametrize(
    ("name", "seconds"),
    [
        ("fail_and_wait_30", 30),
        ("fail_with_broken_backoff", MAX),
        ("fail_with_exiting_backoff", MAX),
        ("fail_and_wait_none", MAX),
        ("fail_and_wait_negative", MAX),
        ("fail_and_wait_for_ever", MAX),
        ("fail_and_wait_nan", MAX),
        ("fail_and_wait_by_dict", 100),
    ],
)
def test_c9_a_backoff_gives_the_wait_and_a_broken_one_the_longest(name, seconds):
    outcome = outcome_of(getattr(retried_tasks, name))
    assert (outcome.kind, outcome.delay) == (Kind.RETRIED, seconds)


@pytest.mark.parametrize("tried", [1, 20, 47, 60, 1100, 30_000])
@pytest.mark.parametrize("factor", [2, 5])
def test_c9_no_number_of_attempts_overflows_the_wait(settings, tried, factor):
    options = {"BACKOFF": {"FACTOR": factor, "MAX": 600}}
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": options}}
    result = tasks.fail.enqueue()
    Task.objects.update(attempt=tried - 1, max_attempts=32_000, worker_ids="w:1\n" * (tried - 1))
    [execution] = run_next()
    assert execution.outcome.kind is Kind.RETRIED
    assert 0 < execution.outcome.delay <= 600
    assert (row(result).state, row(result).attempt) == (State.SCHEDULED, tried)


@pytest.mark.parametrize(("after", "seconds"), [(60, 60), (0, 0), (-1, MAX), ("soon", MAX), (1e300, MAX), (True, MAX)])
def test_a_task_may_say_when_to_try_again(after, seconds):
    outcome = outcome_of(retried_tasks.ask_for_retry, after)
    assert (outcome.kind, outcome.delay) == (Kind.RETRIED, seconds)


def test_a_task_that_asks_for_a_retry_without_a_time_gets_the_backoff():
    assert 0 < outcome_of(retried_tasks.ask_for_retry).delay < 10


@pytest.mark.parametrize(("seconds", "delay"), [(60, 60), (0, 0), (-1, MAX), ("soon", MAX), (1e300, MAX), (None, MAX)])
def test_a_snooze_waits_as_told_or_the_longest(seconds, delay):
    outcome = outcome_of(retried_tasks.snooze, seconds)
    assert (outcome.kind, outcome.delay) == (Kind.SNOOZED, delay)


@pytest.mark.parametrize(
    ("name", "kind"), [("OSError", Kind.RETRIED), ("FileNotFoundError", Kind.RETRIED), ("ValueError", Kind.FAILED)]
)
def test_only_the_named_errors_and_their_kinds_are_tried_again(name, kind):
    assert outcome_of(retried_tasks.fail_with, name).kind is kind


def test_a_retry_that_the_task_asks_for_needs_no_naming():
    result = retried_tasks.ask_for_retry.enqueue(0)
    Task.objects.update(max_attempts=2)
    assert [execution.outcome.kind for execution in run_next(2)] == [Kind.RETRIED, Kind.FAILED]
    assert row(result).attempt == 2


def test_the_last_attempt_fails():
    result = retried_tasks.fail_and_wait_30.enqueue()
    run_next()
    make_ready(result)
    assert run_next()[0].outcome.kind is Kind.FAILED
    assert row(result).state == State.FAILED


def test_each_failed_try_leaves_its_traceback(tmp_path):
    result = retried_tasks.fail_until.enqueue(str(tmp_path / "ledger"), 9)
    run_next(3)
    attempts = TaskAttempt.objects.filter(task_id=int(result.id)).order_by("number")
    assert [(attempt.number, attempt.error_message) for attempt in attempts] == [
        (1, "try 1"),
        (2, "try 2"),
        (3, "try 3"),
    ]
    assert row(result).state == State.FAILED


def test_a_try_that_died_with_its_worker_is_not_charged():
    result = retried_tasks.fail_and_wait_30.enqueue()
    Task.objects.update(attempt=1, crashes=1, worker_ids="dead:1\n")
    assert run_next()[0].outcome.kind is Kind.RETRIED
    assert row(result).attempt == 2


@pytest.mark.parametrize("stored", [1, 3])
def test_a_task_keeps_the_most_attempts_with_which_it_was_enqueued(stored):
    """A deploy that changes ``max_attempts`` is for what is enqueued from then on."""
    result = retried_tasks.fail_and_wait_30.enqueue()
    Task.objects.update(max_attempts=stored)  # as the version before had it; today it is 2
    for _ in range(stored):
        run_next()
        if row(result).state == State.SCHEDULED:
            make_ready(result)
    assert (row(result).state, row(result).attempt) == (State.FAILED, stored)


def test_which_errors_are_tried_again_and_when_says_the_code_that_runs():
    result = retried_tasks.fail_with.enqueue("ValueError")
    Task.objects.update(
        task_path=retried_tasks.fail_and_wait_by_dict.module_path, args_kwargs={"args": [], "kwargs": {}}
    )
    assert run_next()[0].outcome.delay == 100
    assert row(result).state == State.SCHEDULED


def test_c9_a_worker_goes_on_after_every_backoff_that_misbehaves(serving, settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"POLL_SECONDS": (0.01, 0.05)}}
    names = ("broken_backoff", "exiting_backoff")
    results = [getattr(retried_tasks, f"fail_with_{name}").enqueue() for name in names]
    results += [getattr(retried_tasks, f"fail_and_wait_{name}").enqueue() for name in ("none", "negative", "nan")]
    canary = tasks.add.enqueue(1)
    serving(threads=2)
    wait_until(lambda: row(canary).is_finished)
    wait_until(lambda: all(row(result).state == State.SCHEDULED for result in results))
    waits = [(row(result).run_after - row(result).last_attempted_at).total_seconds() for result in results]
    assert waits == [pytest.approx(MAX, abs=20)] * len(results)
    assert {row(result).attempt for result in results} == {1}
