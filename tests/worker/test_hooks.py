"""``after_claim`` and ``around_run``: their order, on threads and on the event loop, and what follows if they raise."""

import logging

import pytest
from django.contrib.auth.models import Group

from django_locqueue.models import State, Task
from django_locqueue.policies.outcome import Kind
from tests import hooks, tasks, timed_tasks
from tests.running import row, run_next, run_on_loop

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def with_hooks(settings):
    def use(*names):
        hooks.seen.clear()
        options = {"MIDDLEWARE": [f"tests.hooks.{name}" for name in names]}
        settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": options}}

    return use


def run_on_thread():
    [execution] = run_next()
    return execution.outcome


# -- order


def test_the_first_hook_is_the_outermost(with_hooks):
    with_hooks("Noting", "NotingToo")
    result = tasks.add.enqueue(1)
    hooks.seen.clear()
    run_next()
    assert hooks.seen == [
        ("claimed", "Noting", result.id, 1),
        ("claimed", "NotingToo", result.id, 1),
        ("enter", "Noting"),
        ("enter", "NotingToo"),
        ("leave", "NotingToo"),
        ("leave", "Noting"),
    ]


def test_on_the_event_loop_the_order_is_the_same(with_hooks):
    with_hooks("Noting", "NotingToo")
    result = tasks.echo_async.enqueue(1)
    hooks.seen.clear()
    assert run_on_loop().return_value == "1"
    assert hooks.seen == [
        ("claimed", "Noting", result.id, 1),
        ("claimed", "NotingToo", result.id, 1),
        ("enter", "Noting"),
        ("enter", "NotingToo"),
        ("leave", "NotingToo"),
        ("leave", "Noting"),
    ]


@pytest.mark.parametrize("run", [run_on_thread, run_on_loop])
def test_plain_and_async_hooks_are_mixed_around_an_async_task(with_hooks, run):
    with_hooks("NotingAsync", "Noting", "NotingBoth")
    tasks.echo_async.enqueue("x")
    hooks.seen.clear()
    assert run().return_value == '"x"'
    names = [entry[1] for entry in hooks.seen if entry[0] != "claimed"]
    assert names == ["NotingAsync", "Noting", "NotingBoth", "Noting", "NotingAsync"]


def test_plain_and_async_hooks_are_mixed_around_a_plain_task(with_hooks):
    with_hooks("Noting", "NotingAsync", "NotingBoth")
    tasks.echo.enqueue("x")
    hooks.seen.clear()
    assert run_on_thread().return_value == '"x"'
    names = [entry[1] for entry in hooks.seen if entry[0] != "claimed"]
    assert names == ["Noting", "NotingAsync", "NotingBoth", "NotingAsync", "Noting"]


def test_a_hook_for_both_is_awaited_on_the_event_loop_and_called_on_a_thread(with_hooks):
    with_hooks("NotingBoth")
    tasks.echo_async.enqueue()
    run_on_loop()
    tasks.echo.enqueue()
    run_on_thread()
    assert hooks.seen == [("awaited", "NotingBoth"), ("called", "NotingBoth")]


def test_a_task_stays_on_its_thread_behind_an_async_hook(with_hooks):
    with_hooks("NotingAsync")
    hooks.name_thread.enqueue()
    assert run_on_thread().return_value == '"test-slot"'


# -- what a hook sees and does


def test_a_hook_sees_the_task(with_hooks, monkeypatch):
    with_hooks("Noting")
    monkeypatch.setattr(hooks.Noting, "after_claim", lambda self, task: hooks.seen.append(task))
    tasks.configured.enqueue()
    run_next()
    [task] = [entry for entry in hooks.seen if not isinstance(entry, tuple)]
    assert (task.definition, task.queue_name, task.priority) == (tasks.configured, "mail", 7)
    assert (task.metadata, task.worker_name) == ({"tenant": "acme"}, "tests:1")


@pytest.mark.parametrize("name", ["NotingAsync", "Noting", "NotingBoth"])
def test_what_the_task_returns_goes_through(with_hooks, name):
    with_hooks(name)
    tasks.add.enqueue(1, 2)
    assert run_on_thread().return_value == "3"


@pytest.mark.parametrize("name", ["NotingAsync", "Noting", "NotingBoth"])
@pytest.mark.parametrize("definition", [tasks.fail, tasks.fail_async])
def test_what_the_task_raises_goes_through(with_hooks, name, definition):
    with_hooks(name)
    definition.enqueue("broken")
    outcome = run_on_thread()
    assert (outcome.kind, outcome.error.class_path) == (Kind.FAILED, "builtins.ValueError")


def test_a_hook_may_return_something_else(with_hooks):
    with_hooks("Instead")
    tasks.fail.enqueue()
    assert run_on_thread().return_value == '"instead"'


def test_a_hook_may_run_the_task_again(with_hooks):
    with_hooks("Tripled")
    tasks.add.enqueue(1, 1)
    assert run_on_thread().return_value == "[2,2,2]"


def test_hooks_are_within_the_transaction_of_an_atomic_task(with_hooks):
    with_hooks("BreakRun")
    tasks.create_group_atomically.enqueue("rolled back")
    assert run_on_thread().kind is Kind.FAILED
    assert not Group.objects.exists()


def test_hooks_are_within_the_timeout(with_hooks):
    with_hooks("Noting")
    timed_tasks.spin.enqueue()
    assert run_on_thread().error.class_path == "django_locqueue.exceptions.TaskTimeout"
    assert hooks.seen[-1] == ("leave", "Noting")


# -- a hook that raises


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("CancelStale", Kind.CANCELLED),
        ("SnoozeAlways", Kind.SNOOZED),
        ("BreakClaim", Kind.FAILED),
        ("BreakRun", Kind.FAILED),
        ("ExitRun", Kind.FAILED),
    ],
)
@pytest.mark.parametrize("run", [run_on_thread, run_on_loop])
def test_what_a_hook_raises_is_as_if_the_task_had_raised_it(with_hooks, name, kind, run):
    with_hooks(name)
    tasks.echo_async.enqueue()
    assert run().kind is kind


@pytest.mark.parametrize("name", ["BreakClaim", "BreakRun", "RetryAlways"])
def test_a_task_is_tried_again_after_its_hook_has_failed(with_hooks, name):
    with_hooks(name)
    result = hooks.tried_twice.enqueue()
    assert run_on_thread().kind is Kind.RETRIED
    assert row(result).state == State.SCHEDULED


def test_the_error_of_a_hook_is_recorded_with_its_traceback(with_hooks):
    with_hooks("BreakClaim")
    result = tasks.add.enqueue(1)
    run_next()
    result.refresh()
    assert result.errors[0].exception_class is LookupError
    assert "tests/hooks.py" in result.errors[0].traceback


def test_hooks_that_cannot_be_made_put_the_task_back_uncharged(settings, caplog):
    tasks.add.enqueue(1)
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": {"MIDDLEWARE": ["tests.hooks.Broken"]}}}
    with caplog.at_level(logging.CRITICAL, "django_locqueue.task"):
        assert run_on_thread().kind is Kind.RELEASED
    assert Task.objects.get().attempt == 0
