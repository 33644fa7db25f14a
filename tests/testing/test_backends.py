"""Our immediate and dummy backends: Django's, with all that ours takes."""

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Group
from django.core import checks
from django.utils import timezone

from django_locqueue import compat, registry
from django_locqueue.models import Task
from django_locqueue.testing import DummyBackend, ImmediateBackend
from tests import hooks, retried_tasks, tasks
from tests.testing import sample_tasks

OPTIONS = {"MAX_ATTEMPTS": 5, "TIMEOUT": 30, "MAX_PENDING": {"mail": 5}, "RETENTION": {"FAILED": None}}


@pytest.fixture
def immediate(settings):
    settings.TASKS = {
        "default": {"BACKEND": "django_locqueue.testing.ImmediateBackend", "QUEUES": [], "OPTIONS": OPTIONS}
    }
    return compat.task_backends["default"]


@pytest.fixture
def dummy(settings):
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.testing.DummyBackend", "QUEUES": [], "OPTIONS": OPTIONS}}
    return compat.task_backends["default"]


def test_they_are_django_s(immediate, settings):
    assert issubclass(ImmediateBackend, compat.ImmediateBackend)
    assert issubclass(DummyBackend, compat.DummyBackend)
    assert isinstance(immediate, compat.ImmediateBackend)


def test_they_are_no_backends_for_workers(immediate):
    assert registry.our_backends() == []


@pytest.mark.parametrize("name", ["immediate", "dummy"])
def test_the_options_of_ours_are_taken_and_checked(request, name):
    assert request.getfixturevalue(name).check() == []


def test_an_unknown_option_is_told(settings):
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.testing.DummyBackend", "OPTIONS": {"MAX_ATEMPTS": 1}}}
    [message] = compat.task_backends["default"].check()
    assert isinstance(message, checks.Error)
    assert "MAX_ATTEMPTS" in message.hint


def test_what_json_cannot_hold_is_refused_as_by_ours(dummy):
    with pytest.raises(TypeError, match="Argument a is"):
        tasks.add.enqueue(object())


# -- the dummy one


def test_the_dummy_backend_remembers_calls(dummy):
    result = tasks.add.enqueue(1, b=2)
    [kept] = dummy.results
    assert (kept.id, kept.args, kept.kwargs, kept.status) == (result.id, [1], {"b": 2}, "READY")


def test_what_happens_to_a_result_does_not_happen_to_what_is_remembered(dummy):
    tasks.echo.enqueue([1]).args[0].append(2)
    assert dummy.results[0].args == [[1]]


def test_the_dummy_backend_remembers_many(dummy):
    results = tasks.add.enqueue_many([((number,), {}) for number in range(3)])
    assert [result.args for result in results] == [[0], [1], [2]]
    assert len(dummy.results) == 3


def test_the_dummy_backend_is_awaited(dummy):
    async_to_sync(tasks.add.aenqueue)(1)


def test_the_dummy_backend_gives_a_result_again_and_forgets_it(dummy):
    result = tasks.add.enqueue(1)
    assert tasks.add.get_result(result.id).id == result.id
    dummy.clear()
    with pytest.raises(compat.TaskResultDoesNotExist):
        tasks.add.get_result(result.id)


def test_the_dummy_backend_takes_a_delayed_call(dummy):
    tasks.add.using(run_after=timezone.now(), metadata={"a": 1}).enqueue(1)
    assert dummy.results[0].task.metadata == {"a": 1}


def test_hooks_drop_calls_of_the_dummy_backend(settings):
    options = {"MIDDLEWARE": ["tests.hooks.DropOdd"]}
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.testing.DummyBackend", "OPTIONS": options}}
    assert tasks.add.enqueue(1).is_dropped
    assert compat.task_backends["default"].results == []


# -- the immediate one


@pytest.mark.parametrize("definition", [tasks.echo, tasks.echo_async, tasks.plain], ids=lambda task: task.name)
def test_the_immediate_backend_runs_a_call_at_once(immediate, definition):
    result = definition.enqueue("hello")
    assert (result.status, result.return_value, result.attempts) == ("SUCCESSFUL", "hello", 1)
    assert result.finished_at >= result.started_at


def test_the_immediate_backend_is_awaited(immediate):
    assert async_to_sync(tasks.echo_async.aenqueue)("hello").return_value == "hello"


def test_the_immediate_backend_runs_many(immediate):
    results = tasks.add.enqueue_many([((number,), {}) for number in range(3)])
    assert [result.return_value for result in results] == [0, 1, 2]


def test_the_immediate_backend_tries_once(immediate):
    result = retried_tasks.fail_and_wait_30.enqueue()
    assert (result.status, result.attempts) == ("FAILED", 1)
    assert result.errors[0].exception_class is OSError


def test_a_task_gets_the_context_of_ours(immediate):
    result = sample_tasks.tell_context.using(metadata={"tenant": "acme"}).enqueue()
    assert result.return_value == {
        "attempt": 1,
        "metadata": {"tenant": "acme"},
        "should_stop": False,
        "has_deadline": True,
    }


def test_a_timeout_is_kept(immediate):
    result = sample_tasks.spin.enqueue()
    assert result.errors[0].exception_class.__name__ == "TaskTimeout"


def test_a_task_that_gives_up_has_failed(immediate):
    result = retried_tasks.give_up.enqueue("why")
    assert result.status == "FAILED"
    assert result.errors[0].exception_class.__name__ == "Cancel"


def test_a_task_that_snoozes_stays_ready(immediate):
    assert retried_tasks.snooze.enqueue(60).status == "READY"


def test_a_delayed_call_runs_at_once(immediate):
    assert tasks.add.using(run_after=timezone.now()).enqueue(1).return_value == 1


def test_a_person_s_interrupt_ends_the_process(immediate):
    with pytest.raises(KeyboardInterrupt):
        tasks.interrupt.enqueue()


def test_the_signals_of_a_run_are_sent(immediate):
    heard = []

    def receiver(sender, task_result, **kwargs):
        heard.append((sender, task_result.status))

    signals = (compat.task_enqueued, compat.task_started, compat.task_finished)
    for signal in signals:
        signal.connect(receiver)
    try:
        tasks.add.enqueue(1)
    finally:
        for signal in signals:
            signal.disconnect(receiver)
    assert heard == [(ImmediateBackend, "READY"), (ImmediateBackend, "RUNNING"), (ImmediateBackend, "SUCCESSFUL")]


def test_hooks_are_around_a_run(settings):
    hooks.seen.clear()
    options = {"MIDDLEWARE": ["tests.hooks.Noting"]}
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.testing.ImmediateBackend", "OPTIONS": options}}
    tasks.add.enqueue(1)
    assert [entry[0] for entry in hooks.seen] == ["before", "claimed", "enter", "leave"]


@pytest.mark.django_db
def test_an_atomic_task_that_fails_leaves_nothing(immediate):
    assert sample_tasks.create_and_fail.enqueue("atomic").status == "FAILED"
    assert not Group.objects.exists()


@pytest.mark.django_db
def test_an_atomic_task_that_returns_keeps_its_work(immediate):
    result = tasks.create_group_atomically.enqueue("kept")
    assert result.status == "SUCCESSFUL"
    assert Group.objects.filter(name="kept").exists()


@pytest.mark.django_db
def test_no_row_is_written(immediate):
    tasks.add.enqueue(1)
    assert not Task.objects.exists()


def test_the_immediate_one_runs_a_call_of_a_chunk_as_a_chunk_of_one(immediate):
    sample_tasks.ran.clear()
    good, odd = (sample_tasks.note_many.enqueue(number) for number in (2, 3))
    assert sample_tasks.ran == [[2], [3]]
    assert good.return_value == 2
    assert odd.errors[0].exception_class_path == "builtins.ValueError"
