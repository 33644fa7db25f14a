"""Our definitions work with the other backends, and theirs with ours."""

import pytest

from django_locqueue import compat, task
from django_locqueue.definition import TaskDefinition
from tests import tasks

BACKENDS = "django.tasks.backends" if compat.IS_DJANGO else "django_tasks.backends"
IMMEDIATE = f"{BACKENDS}.immediate.ImmediateBackend"
DUMMY = f"{BACKENDS}.dummy.DummyBackend"


@pytest.fixture
def immediate(settings):
    settings.TASKS = {"default": {"BACKEND": IMMEDIATE, "QUEUES": []}}


@pytest.fixture
def dummy(settings):
    settings.TASKS = {"default": {"BACKEND": DUMMY, "QUEUES": []}}
    return compat.task_backends["default"]


def test_our_decorator_makes_our_definition_with_any_backend(immediate):
    definition = task(tasks.add.func, max_attempts=3, backoff=5, metadata={"a": 1})
    assert isinstance(definition, TaskDefinition)
    assert definition.max_attempts == 3


@pytest.mark.parametrize("definition", [tasks.echo, tasks.echo_async, tasks.plain], ids=lambda task: task.name)
def test_the_immediate_backend_runs_our_definitions(immediate, definition):
    result = definition.enqueue("hello")
    assert (result.status, result.return_value) == (compat.TaskResultStatus.SUCCESSFUL, "hello")


def test_the_immediate_backend_records_the_failure_of_ours(immediate):
    result = tasks.fail.enqueue("broken")
    assert result.status == compat.TaskResultStatus.FAILED
    assert result.errors[0].exception_class is ValueError


async def test_the_immediate_backend_is_awaited_with_ours(immediate):
    assert (await tasks.echo_async.aenqueue("hello")).return_value == "hello"


def test_the_dummy_backend_keeps_our_calls(dummy):
    result = tasks.configured.enqueue()
    [kept] = dummy.results
    assert (kept.id, kept.task) == (result.id, tasks.configured)


def test_other_backends_store_many_calls_one_by_one(dummy):
    results = tasks.add.enqueue_many([((1,), {}), ((2,), {"b": 3})])
    assert [(result.args, result.kwargs) for result in results] == [([1], {}), ([2], {"b": 3})]
    assert len(dummy.results) == 2


@pytest.mark.django_db
def test_enqueueing_on_commit_works_with_other_backends(dummy, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        tasks.add.enqueue_on_commit(1)
        assert dummy.results == []
    assert len(dummy.results) == 1


def test_our_variants_work_with_other_backends(dummy):
    tasks.configured.using(priority=3, metadata={"b": 2}).enqueue()
    assert dummy.results[0].task.priority == 3


def test_two_of_our_backends_live_side_by_side(settings, db):
    ours = settings.TASKS["default"]
    settings.TASKS = {"default": ours, "slow": {**ours, "OPTIONS": {"MAX_ATTEMPTS": 9}}}
    result = tasks.add.using(backend="slow").enqueue(1)
    from tests.running import row

    assert (row(result).backend_alias, row(result).max_attempts, result.backend) == ("slow", 9, "slow")
    assert tasks.add.using(backend="slow").get_result(result.id).backend == "slow"
