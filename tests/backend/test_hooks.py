"""``before_enqueue``: what a hook may do to a call, and what its caller gets."""

import logging

import pytest
from asgiref.sync import async_to_sync
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from django_locqueue import chain, compat, group
from django_locqueue.hooks import NewCall
from django_locqueue.models import Task
from tests import hooks, tasks
from tests.running import in_thread, our_backend, row

pytestmark = pytest.mark.django_db


@pytest.fixture
def with_hooks(settings):
    def use(*names):
        hooks.seen.clear()
        hooks.made.clear()
        options = {"MIDDLEWARE": [f"tests.hooks.{name}" for name in names]}
        settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": options}}

    return use


def test_hooks_see_a_call_in_their_order(with_hooks):
    with_hooks("Noting", "NotingToo")
    tasks.add.enqueue(1, b=2)
    assert hooks.seen == [("before", "Noting", [1]), ("before", "NotingToo", [1])]


def test_a_hook_changes_what_is_stored(with_hooks):
    with_hooks("Change")
    result = tasks.add.enqueue(1)
    stored = row(result)
    assert stored.args_kwargs == {"args": [2], "kwargs": {}}
    assert (stored.queue_name, stored.priority, stored.metadata) == ("changed", 7, {"tenant": "acme"})
    assert (result.args, result.task.queue_name) == ([2], "changed")


def test_the_next_hook_sees_the_changed_call(with_hooks):
    with_hooks("Change", "Noting")
    tasks.add.enqueue(1)
    assert hooks.seen == [("before", "Noting", [2])]


def test_metadata_of_the_definition_is_kept_beside_that_of_a_hook(with_hooks):
    with_hooks("Change")
    assert row(tasks.echo.using(metadata={"a": 1}).enqueue(1)).metadata == {"a": 1, "tenant": "acme"}


def test_a_definition_of_django_s_own_class_can_be_given_metadata(with_hooks):
    with_hooks("Change")
    plain = compat.Task(func=tasks.plain.func, priority=0, queue_name="default", backend="default", run_after=None)
    assert row(our_backend().enqueue(plain, [1], {})).metadata == {"tenant": "acme"}


def test_a_dropped_call_is_not_stored_and_its_result_says_by_whom(with_hooks):
    with_hooks("DropOdd")
    result = tasks.add.enqueue(1)
    assert not Task.objects.exists()
    assert (result.status, result.is_dropped) == (compat.TaskResultStatus.FAILED, True)
    assert result.errors[0].exception_class.__name__ == "Cancel"
    assert result.errors[0].traceback == "dropped by tests.hooks.DropOdd before it was enqueued"


def test_a_stored_call_is_not_dropped(with_hooks):
    with_hooks("DropOdd")
    assert not tasks.add.enqueue(2).is_dropped


def test_the_result_of_a_dropped_call_can_neither_be_read_nor_cancelled_nor_put_back(with_hooks):
    with_hooks("DropOdd")
    result = tasks.add.enqueue(1)
    with pytest.raises(compat.TaskResultDoesNotExist):
        result.refresh()
    assert (result.cancel(), result.requeue()) == (False, False)


def test_a_dropped_call_is_logged_once(with_hooks, caplog):
    with_hooks("DropOdd")
    with caplog.at_level(logging.INFO, "django_locqueue.hooks"):
        tasks.add.enqueue(1)
    assert caplog.messages == ["tests.tasks.add was dropped by tests.hooks.DropOdd before it was enqueued."]


def test_nobody_hears_of_a_dropped_call(with_hooks):
    with_hooks("DropOdd")
    heard = []

    def receiver(sender, task_result, **kwargs):
        heard.append(task_result.args)

    compat.task_enqueued.connect(receiver)
    try:
        tasks.add.enqueue(1)
        tasks.add.enqueue_many([((number,), {}) for number in range(3)])
    finally:
        compat.task_enqueued.disconnect(receiver)
    assert heard == [[0], [2]]


def test_of_many_calls_those_that_are_dropped_have_their_place_among_the_results(with_hooks):
    with_hooks("DropOdd")
    results = tasks.add.enqueue_many([((number,), {}) for number in range(4)])
    assert [result.is_dropped for result in results] == [False, True, False, True]
    assert [row(result).args_kwargs["args"] for result in results if not result.is_dropped] == [[0], [2]]


def test_many_calls_are_changed_each(with_hooks):
    with_hooks("Change")
    results = tasks.add.enqueue_many([((number,), {}) for number in range(3)])
    assert [row(result).args_kwargs["args"] for result in results] == [[1], [2], [3]]


def test_an_awaited_call_is_seen_too(with_hooks):
    with_hooks("DropOdd")
    assert async_to_sync(tasks.add.aenqueue)(1).is_dropped


def test_what_a_hook_raises_reaches_the_caller_and_nothing_is_stored(with_hooks):
    with_hooks("Noting", "Refuse")
    with pytest.raises(PermissionError, match="not at night"):
        tasks.add.enqueue(1)
    assert not Task.objects.exists()


def test_a_hook_that_returns_anything_else_is_told_what_to_return(with_hooks):
    with_hooks("Wrong")
    with pytest.raises(TypeError, match=r"tests\.hooks\.Wrong\.before_enqueue must return the call"):
        tasks.add.enqueue(1)


def test_what_a_hook_makes_of_a_call_is_validated(with_hooks):
    with_hooks("WrongQueue")
    with pytest.raises(compat.InvalidTask, match="queue_name must be"):
        tasks.add.enqueue(1)


def test_hooks_are_made_once_for_all_threads(with_hooks):
    with_hooks("Noting")
    tasks.add.enqueue(1)
    in_thread(lambda: our_backend().hooks)
    assert hooks.made == ["Noting"]


def test_a_call_cannot_be_changed_in_place():
    call = NewCall.of(tasks.add, [1], {})
    with pytest.raises(AttributeError):
        call.priority = 3


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Missing", "ImportError"),
        ("Useless", "has none of before_enqueue, after_claim, around_run"),
        ("Broken", "RuntimeError: no key"),
        ("AsyncBefore", "before_enqueue must be a plain function"),
    ],
)
def test_a_hook_that_cannot_be_used_is_a_system_check_error(with_hooks, name, says):
    with_hooks(name)
    [message] = [each for each in checks.run_checks(databases=[]) if each.id == "locqueue.E032"]
    assert says in message.msg
    assert f"tests.hooks.{name}" in message.msg
    with pytest.raises(ImproperlyConfigured):
        tasks.add.enqueue(1)


@pytest.mark.parametrize("value", ["tests.hooks.Noting", {"a": 1}, None])
def test_hooks_must_be_a_list(settings, value):
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": {"MIDDLEWARE": value}}}
    [message] = [each for each in checks.run_checks(databases=[]) if each.id == "locqueue.E032"]
    assert "must be a list" in message.msg
    assert "shop.hooks" in message.hint


def test_hooks_that_can_be_used_pass_the_checks(with_hooks):
    with_hooks("Noting", "NotingAsync", "NotingBoth")
    assert [each for each in checks.run_checks(databases=[]) if each.id == "locqueue.E032"] == []


def test_hooks_are_asked_about_each_call_of_a_workflow(with_hooks):
    with_hooks("DropOdd")
    steps = [tasks.add.call(1), group(tasks.add.call(number) for number in range(4)), tasks.add.call(6)]
    result = chain(*steps).enqueue()
    assert (result.steps, [row.args_kwargs["args"] for row in result.tasks]) == (2, [[0], [2], [6]])
    with pytest.raises(compat.InvalidTask, match="dropped every call"):
        chain(tasks.add.call(1), tasks.add.call(3)).enqueue()
