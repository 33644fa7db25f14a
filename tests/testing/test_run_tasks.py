"""``run_tasks``: a worker's work on the thread of a test, within its transaction."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.db import connection
from django.test import TestCase
from django.utils import timezone

from django_locqueue import chain, compat, group, signals
from django_locqueue.models import State, Task, Worker
from django_locqueue.testing import arun_tasks, drain, run_tasks, travel
from tests import hooks, tasks
from tests.running import our_backend, row
from tests.testing import sample_tasks
from tests.testing.sample_tasks import ran

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nothing_ran():
    ran.clear()


class InATestCase(TestCase):
    """As most projects write their tests."""

    def test_a_task_sees_what_the_test_has_not_committed(self):
        result = tasks.read_group.enqueue(Group.objects.create(name="uncommitted").pk)
        run_tasks()
        result.refresh()
        assert result.return_value == "uncommitted"

    def test_the_test_sees_what_the_task_has_written(self):
        tasks.create_group.enqueue("by the task")
        run_tasks()
        assert Group.objects.filter(name="by the task").exists()

    def test_an_async_task_works_on_the_same_connection(self):
        Group.objects.create(name="uncommitted")
        result = sample_tasks.count_groups_async.enqueue()
        run_tasks()
        result.refresh()
        assert result.return_value == 1

    def test_a_block_that_must_be_the_outermost_can_be_opened(self):
        result = sample_tasks.open_durable_block.enqueue()
        run_tasks()
        result.refresh()
        assert result.return_value == "opened"

    def test_what_waits_for_the_commit_of_a_task_is_done_after_its_run(self):
        sample_tasks.note_on_commit.enqueue("committed")
        run_tasks()
        assert ran == ["committed"]

    async def test_it_can_be_awaited(self):
        result = await tasks.add.aenqueue(1, 2)
        await arun_tasks()
        await result.arefresh()
        assert result.return_value == 3


# -- what is run


def test_tasks_run_in_the_order_of_service():
    for value, priority in (("third", 0), ("first", 10), ("second", 5)):
        sample_tasks.note.using(priority=priority).enqueue(value)
    run_tasks()
    assert ran == ["first", "second", "third"]


def test_each_run_is_returned():
    result = tasks.add.enqueue(1, b=2)
    tasks.fail.enqueue("broken")
    first, second = run_tasks()
    assert (first.id, first.task_path, first.args, first.kwargs) == (result.id, "tests.tasks.add", [1], {"b": 2})
    assert (first.outcome, first.attempt, first.error, first.exception) == ("successful", 1, "", None)
    assert (second.outcome, second.error) == ("failed", "builtins.ValueError: broken")
    assert isinstance(second.exception, ValueError)


def test_tasks_that_tasks_enqueue_are_run_too():
    sample_tasks.enqueue_another.enqueue(3)
    run_tasks()
    assert ran == [3, 2, 1, 0]


def test_until_empty_can_be_left_out():
    sample_tasks.enqueue_another.enqueue(3)
    sample_tasks.note.enqueue("beside")
    run_tasks(until_empty=False)
    assert ran == [3, "beside"]
    assert Task.objects.ready().count() == 1


def test_a_limit_ends_it():
    sample_tasks.enqueue_for_ever.enqueue()
    assert len(run_tasks(limit=5)) == 5
    assert Task.objects.ready().count() == 1


def test_a_queue_that_never_ends_is_told(monkeypatch):
    monkeypatch.setattr(drain, "MOST_RUNS", 5)
    sample_tasks.enqueue_for_ever.enqueue()
    with pytest.raises(RuntimeError, match="enqueues itself"):
        run_tasks()


@pytest.mark.parametrize("queue", ["mail", ["mail", "none"], ("mail",)])
def test_only_the_named_queues_are_run(queue):
    sample_tasks.note.enqueue("default")
    sample_tasks.note.using(queue_name="mail").enqueue("mail")
    run_tasks(queue)
    assert ran == ["mail"]


def test_a_paused_queue_is_left_alone():
    our_backend().store.pause("default")
    sample_tasks.note.enqueue(1)
    assert run_tasks() == []


def test_an_empty_queue_runs_nothing():
    assert run_tasks() == []


def test_no_worker_is_left_running():
    tasks.add.enqueue(1)
    run_tasks()
    assert not Worker.objects.filter(stopped_at=None).exists()


def test_a_thread_has_no_part_in_it():
    result = hooks.name_thread.enqueue()
    run_tasks()
    result.refresh()
    assert result.return_value == threading.current_thread().name


# -- time


def test_a_retry_waits_for_its_backoff():
    result = sample_tasks.fail_twice.enqueue("a")
    assert [run.outcome for run in run_tasks()] == ["retried"]
    assert row(result).state == State.SCHEDULED
    assert run_tasks() == []


def test_a_retry_is_due_when_its_backoff_is_over():
    result = sample_tasks.fail_twice.enqueue("a")
    run_tasks()
    with travel(59):
        assert run_tasks() == []
    with travel(61):
        assert [run.outcome for run in run_tasks()] == ["retried"]
        with travel(61):
            run_tasks()
    result.refresh()
    assert (result.return_value, result.attempts) == (3, 3)


def test_delayed_runs_retries_too_until_the_task_has_ended():
    result = sample_tasks.fail_twice.enqueue("a")
    assert [run.outcome for run in run_tasks(delayed=True)] == ["retried", "retried", "successful"]
    result.refresh()
    assert result.status == compat.TaskResultStatus.SUCCESSFUL


def test_delayed_runs_what_waits_in_the_order_of_its_time():
    for value, hours in (("second", 2), ("first", 1), ("third", 72)):
        sample_tasks.note.using(run_after=timezone.now() + timedelta(hours=hours)).enqueue(value)
    assert run_tasks() == []
    run_tasks(delayed=True)
    assert ran == ["first", "second", "third"]


def test_delayed_runs_a_snoozed_task_again():
    result = sample_tasks.snooze_once.enqueue()
    assert [run.outcome for run in run_tasks(delayed=True)] == ["snoozed", "successful"]
    result.refresh()
    assert result.return_value == "awake"


def test_delayed_leaves_what_is_put_off_for_ever():
    sample_tasks.note.using(run_after=datetime.max.replace(tzinfo=UTC)).enqueue("never")
    assert run_tasks(delayed=True) == []


def test_after_delayed_the_clock_is_where_it_was():
    before = our_backend().store.now()
    sample_tasks.note.using(run_after=timezone.now() + timedelta(days=9)).enqueue(1)
    run_tasks(delayed=True)
    assert our_backend().store.now() - before < timedelta(days=1)


def test_delayed_leaves_other_queues_alone():
    sample_tasks.note.using(run_after=timezone.now() + timedelta(days=1)).enqueue(1)
    assert run_tasks("mail", delayed=True) == []


def test_schedules_go_by_the_same_clock(settings):
    nightly = {"task": "tests.testing.sample_tasks.note", "cron": "0 3 * * *", "args": ["nightly"]}
    settings.LOCQUEUE = {**settings.LOCQUEUE, "SCHEDULES": {"nightly": nightly}}
    assert run_tasks(schedules=True) == []  # from now on its slots are known
    with travel(timedelta(days=1, seconds=1)):
        assert run_tasks() == []
        run_tasks(schedules=True)
    assert ran == ["nightly"]


# -- tasks that wait for their turn


def test_tasks_under_a_concurrency_limit_run_in_their_order():
    for value in range(3):
        sample_tasks.note_in_order.enqueue("a", value)
    run_tasks()
    assert ran == [0, 1, 2]


def test_what_its_rate_does_not_let_go_yet_waits_for_its_time():
    for value in range(3):
        sample_tasks.note_at_a_rate.enqueue(value)
    run_tasks()
    assert ran == [0]
    run_tasks(delayed=True)
    assert ran == [0, 1, 2]


def test_a_full_chunk_is_one_call_and_a_run_for_each_member():
    for value in range(3):
        sample_tasks.note_many.enqueue(value)
    assert [run.outcome for run in run_tasks()] == ["successful", "failed", "successful"]
    assert ran == [[0, 1, 2]]


def test_a_chunk_that_is_not_full_waits_for_its_time():
    sample_tasks.note_many.enqueue(2)
    assert run_tasks() == []
    with travel(31):
        run_tasks()
    assert ran == [[2]]


def test_a_workflow_runs_step_by_step():
    chain(
        sample_tasks.note.call("first"),
        group(sample_tasks.note.call("second"), sample_tasks.note.call("third")),
        sample_tasks.note.call("last"),
    ).enqueue()
    run_tasks()
    assert ran == ["first", "second", "third", "last"]


# -- tasks that fail


def test_check_raises_what_a_task_has_failed_with():
    result = tasks.fail.enqueue("broken")
    with pytest.raises(ValueError, match="broken"):
        run_tasks(check=True)
    result.refresh()
    assert result.status == compat.TaskResultStatus.FAILED


def test_check_does_not_raise_what_is_tried_again():
    sample_tasks.fail_twice.enqueue("a")
    assert [run.outcome for run in run_tasks(check=True, delayed=True)] == ["retried", "retried", "successful"]


def test_what_check_leaves_of_a_round_is_put_back():
    tasks.fail.using(priority=1).enqueue()
    result = sample_tasks.note.enqueue(1)
    with pytest.raises(ValueError):
        run_tasks(check=True, until_empty=False)
    assert (row(result).state, row(result).attempt) == (State.READY, 0)


@pytest.mark.parametrize("definition", [sample_tasks.break_a_statement, sample_tasks.break_a_constraint])
def test_a_database_error_of_a_task_does_not_break_the_test(definition):
    result = definition.enqueue(*(["twice"] if definition is sample_tasks.break_a_constraint else []))
    sample_tasks.note.enqueue("after it")
    run_tasks()
    result.refresh()
    assert result.status == compat.TaskResultStatus.FAILED
    assert ran == ["after it"]
    assert not connection.needs_rollback


def test_an_atomic_task_that_fails_leaves_nothing():
    sample_tasks.create_and_fail.enqueue("atomic")
    assert [run.outcome for run in run_tasks()] == ["failed"]
    assert not Group.objects.exists()


def test_a_task_is_interrupted_at_its_timeout():
    sample_tasks.spin.enqueue()
    [run] = run_tasks()
    assert run.error.startswith("django_locqueue.exceptions.TaskTimeout")


def test_what_a_task_does_to_its_connection_stays_the_test_s():
    Group.objects.create(name="of the test")
    tasks.add.enqueue(1)
    run_tasks()
    assert Group.objects.filter(name="of the test").exists()


# -- who hears of it


def test_django_s_signals_are_sent():
    heard = []

    def receiver(sender, task_result, signal, **kwargs):
        heard.append(task_result.status)

    for signal in (compat.task_started, compat.task_finished):
        signal.connect(receiver)
    try:
        tasks.add.enqueue(1)
        run_tasks()
    finally:
        for signal in (compat.task_started, compat.task_finished):
            signal.disconnect(receiver)
    assert heard == ["RUNNING", "SUCCESSFUL"]


@pytest.mark.parametrize(
    ("signal", "definition"),
    [
        (signals.attempt_ended, tasks.fail),
        (signals.task_retried, sample_tasks.fail_twice),
    ],
)
def test_our_signals_are_sent(signal, definition):
    heard = []

    def receiver(claimed, **kwargs):
        heard.append(claimed.task_path)

    signal.connect(receiver)
    try:
        definition.enqueue("a")
        run_tasks()
    finally:
        signal.disconnect(receiver)
    assert heard == [definition.module_path]


def test_hooks_are_called(settings):
    hooks.seen.clear()
    options = {"MIDDLEWARE": ["tests.hooks.Noting"]}
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": options}}
    result = tasks.add.enqueue(1)
    run_tasks()
    assert ("claimed", "Noting", result.id, 1) in hooks.seen


# -- settings


def test_without_a_backend_of_ours_it_says_what_is_missing(settings):
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.testing.DummyBackend"}}
    with pytest.raises(RuntimeError, match="needs a backend of django-locqueue"):
        run_tasks()


def test_a_backend_can_be_named(settings):
    settings.TASKS = {"default": settings.TASKS["default"], "slow": settings.TASKS["default"]}
    tasks.add.using(backend="slow").enqueue(1)
    assert len(run_tasks(backend="slow")) == 1


def test_a_backend_that_is_not_there_is_named(settings):
    with pytest.raises(RuntimeError, match="'slow'"):
        run_tasks(backend="slow")


@pytest.mark.django_db(transaction=True)
def test_without_a_transaction_around_the_test_it_works_as_well():
    result = tasks.create_group.enqueue("committed")
    sample_tasks.note_on_commit.enqueue("committed")
    run_tasks()
    result.refresh()
    assert result.status == compat.TaskResultStatus.SUCCESSFUL
    assert ran == ["committed"]


@pytest.mark.django_db(transaction=True)
def test_it_can_be_awaited_without_a_transaction():
    tasks.add.enqueue(1)
    assert len(async_to_sync(arun_tasks)()) == 1
