"""A task whose definition is not here goes back: another version may have it. After a time it is failed."""

import sys
from datetime import timedelta

import pytest
from django.db import OperationalError

from django_locqueue.models import State, Task, TaskAttempt
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import store_for
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor
from tests import tasks
from tests.processes import wait_until
from tests.running import claim_next, in_thread, make_ready, our_backend, perform, row, run_next

pytestmark = pytest.mark.django_db(transaction=True)

UNKNOWN = "django_locqueue.exceptions.UnknownTask"


def unknown(path="shop.tasks.of_tomorrow", **columns):
    """Return the result of a task that no worker of this version knows."""
    result = tasks.add.enqueue(1)
    Task.objects.filter(pk=int(result.id)).update(task_path=path, **columns)
    return result


def met(result, *, seconds_ago):
    """Let its first meeting be as long ago as that, and let it be ready now."""
    Task.objects.filter(pk=int(result.id)).update(
        unknown_since=store_for("default").now() - timedelta(seconds=seconds_ago)
    )
    make_ready(result)
    return run_next()[0].outcome


def test_it_is_put_back_with_the_reason_and_not_charged():
    result = unknown(max_attempts=1)
    run_next()
    stored = row(result)
    assert (stored.state, stored.attempt, stored.worker_ids, stored.started_at) == (State.SCHEDULED, 0, "", None)
    assert stored.error_class == UNKNOWN
    assert "shop.tasks.of_tomorrow cannot be imported" in stored.error_message
    assert not TaskAttempt.objects.exists()


def test_it_waits_as_long_again_as_it_has_waited_and_five_minutes_at_most():
    result = unknown()
    waits = [run_next()[0].outcome.delay]
    waits += [met(result, seconds_ago=seconds).delay for seconds in (2, 60, 1000)]
    assert waits == [pytest.approx(each, abs=1.5) for each in (10, 10, 60, 300)]


def test_it_is_failed_when_no_worker_has_known_it_for_an_hour():
    result = unknown()
    run_next()
    assert met(result, seconds_ago=3590).delay == pytest.approx(10, abs=1.5)
    assert met(result, seconds_ago=3601).kind is Kind.FAILED
    stored = row(result)
    assert (stored.state, stored.error_class, stored.attempt) == (State.FAILED, UNKNOWN, 1)
    assert stored.error_message.startswith("No worker has known it for 3600 s: shop.tasks.of_tomorrow cannot be")


def test_a_retry_by_hand_gives_it_the_whole_time_again():
    result = unknown()
    run_next()
    met(result, seconds_ago=3601)
    our_backend().store.requeue([int(result.id)])
    assert run_next()[0].outcome.kind is Kind.RELEASED


def test_with_no_time_at_all_it_fails_at_once(settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"UNKNOWN_TASK_SECONDS": 0}}
    result = unknown()
    run_next()
    assert row(result).state == State.FAILED


def test_a_worker_that_knows_it_runs_it_as_if_nothing_had_been():
    result = unknown()
    run_next()
    Task.objects.update(task_path=tasks.add.module_path)  # as seen by the next version
    make_ready(result)
    run_next()
    result.refresh()
    assert (row(result).state, result.return_value, result.attempts, result.errors) == (State.SUCCESSFUL, 1, 1, [])


def test_one_that_is_cancelled_meanwhile_ends():
    result = unknown()
    execution = Execution(in_thread(claim_next))
    result.cancel("not needed")
    in_thread(lambda: perform([execution]))
    assert row(result).state == State.CANCELLED


def test_a_backlog_of_them_costs_one_import_and_one_line_in_the_log(tmp_path, monkeypatch, caplog):
    (tmp_path / "counted_tasks.py").write_text("import sys; sys.counted_imports += 1; import nowhere")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "counted_imports", 0, raising=False)
    for _ in range(5):
        unknown("counted_tasks.f")
    executor = Executor(our_backend())

    def run():
        for _ in range(5):
            executor.run(Execution(claim_next()))

    in_thread(run)
    assert sys.counted_imports == 1
    assert caplog.text.count("Its tasks are put back: another worker may know it.") == 1


def test_d5_they_hold_up_no_other_however_important_they_are(serving, settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"POLL_SECONDS": (0.01, 0.05)}}
    results = [unknown(priority=100) for _ in range(50)]
    canary = tasks.add.enqueue(1)
    serving(threads=1)
    wait_until(lambda: row(canary).is_finished)
    wait_until(lambda: not Task.objects.filter(state__in=(State.READY, State.RUNNING)).exists())
    assert {row(result).state for result in results} == {State.SCHEDULED}


def test_a_database_that_is_away_just_then_charges_nothing(monkeypatch):
    result = unknown(claim_no=1)

    def away(*args):
        raise OperationalError("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(type(our_backend().store), "unknown_since", away)
        run_next()
    assert (row(result).state, row(result).attempt) == (State.SCHEDULED, 0)
