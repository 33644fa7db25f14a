"""Reading results back: by any process, after success and failure, whatever became of the code and the row."""

import pickle
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from django_locqueue import compat
from django_locqueue.models import State, Task
from tests import retried_tasks, tasks
from tests.running import make_ready, our_backend, row, run_next, run_one

pytestmark = pytest.mark.django_db(transaction=True)

Status = compat.TaskResultStatus

MALFORMED: list[Any] = [
    *(
        "",
        " ",
        "abc",
        "None",
        "null",
        "1 ",
        " 1",
        "1\n",
        "+1",
        "-1",
        "0x1",
        "1e3",
        "1.0",
        "1_000",
        "１２",
        "٣",
        "\x00",
        "1\x00",
    ),
    *(
        str(10**30),
        "9223372036854775808",
        "'; DROP TABLE locqueue_task; --",
        "\ud800",
        None,
        1.5,
        b"1",
        [],
        True,
        -1,
        10**30,
        10**5000,
    ),
]


@pytest.mark.parametrize("id", MALFORMED, ids=lambda id: ascii(id) if not isinstance(id, int) else "a number")
def test_a_malformed_id_does_not_exist(id):
    with pytest.raises(compat.TaskResultDoesNotExist):
        our_backend().get_result(id)


def test_an_id_may_be_given_as_the_number_that_it_is():
    result = tasks.add.enqueue(1)
    assert tasks.add.get_result(int(result.id)).id == result.id


def test_an_unknown_id_does_not_exist():
    with pytest.raises(compat.TaskResultDoesNotExist):
        tasks.add.get_result("999999")


def test_a_result_of_another_task_does_not_match():
    result = tasks.add.enqueue(1)
    with pytest.raises(compat.TaskResultMismatch):
        tasks.echo.get_result(result.id)


def test_the_backend_gives_the_result_of_any_task():
    result = tasks.add.enqueue(1, b=2)
    found = our_backend().get_result(result.id)
    assert (found.id, found.args, found.kwargs, found.status) == (result.id, [1], {"b": 2}, Status.READY)
    assert found.task == tasks.add


def test_a_variant_can_read_the_result_of_its_definition():
    result = tasks.add.using(priority=5).enqueue(1)
    assert tasks.add.get_result(result.id).task.priority == 5


def test_times_and_workers_survive_success():
    result = run_one(tasks.add.enqueue(1, b=2))
    assert result.status == Status.SUCCESSFUL
    assert result.is_finished
    assert result.return_value == 3
    assert result.enqueued_at <= result.started_at <= result.finished_at
    assert result.last_attempted_at == result.started_at
    assert result.worker_ids == ["tests:1"]
    assert result.errors == []


def test_a_result_read_anew_equals_a_refreshed_one():
    result = run_one(tasks.add.enqueue(1, b=2))
    found = tasks.add.get_result(result.id)
    for name in ("status", "started_at", "finished_at", "worker_ids", "return_value", "attempts"):
        assert getattr(found, name) == getattr(result, name)


def test_a_return_value_is_refused_before_the_end():
    with pytest.raises(ValueError, match="not finished"):
        _ = tasks.add.enqueue(1).return_value


def test_a_return_value_is_refused_after_a_failure():
    result = run_one(tasks.fail.enqueue())
    with pytest.raises(ValueError, match="failed"):
        _ = result.return_value


def test_nothing_returned_is_none_and_no_error():
    assert run_one(tasks.echo.enqueue()).return_value is None


def test_an_error_has_an_importable_class_and_the_whole_traceback():
    result = run_one(tasks.fail.enqueue("the reason"))
    [error] = result.errors
    assert result.status == Status.FAILED
    assert error.exception_class is ValueError
    assert error.traceback.startswith("Traceback")
    assert "the reason" in error.traceback
    assert "tests/tasks.py" in error.traceback


def test_attempts_are_the_workers_that_tried(tmp_path):
    result = retried_tasks.fail_until.enqueue(str(tmp_path / "ledger"), 3)
    for attempts in (1, 2, 3):
        if attempts > 1 and row(result).state == State.SCHEDULED:
            make_ready(result)
        run_next()
        result.refresh()
        assert result.attempts == len(result.worker_ids) == attempts
    assert (result.status, result.return_value) == (Status.SUCCESSFUL, 3)


def test_the_errors_of_earlier_tries_stay_after_success(tmp_path):
    result = retried_tasks.fail_until.enqueue(str(tmp_path / "ledger"), 3)
    run_next(3)
    result.refresh()
    assert [error.exception_class for error in result.errors] == [OSError, OSError]
    assert "try 1" in result.errors[0].traceback
    assert "try 2" in result.errors[1].traceback


def test_a_task_that_waits_for_its_next_try_is_ready_for_django():
    result = run_one(retried_tasks.fail_and_wait_30.enqueue())
    assert (result.status, row(result).state, result.attempts) == (Status.READY, State.SCHEDULED, 1)
    assert result.finished_at is None


def test_the_result_of_a_function_that_is_gone_can_be_read():
    result = tasks.add.enqueue(1, b=2)
    Task.objects.update(task_path="tests.tasks.removed_last_week")
    found = our_backend().get_result(result.id)
    assert found.task.module_path == "tests.tasks.removed_last_week"
    assert (found.task.name, found.args, found.status) == ("removed_last_week", [1], Status.READY)


@pytest.mark.parametrize("path", ["", "nodots", "no.such.module.f", "tests.tasks.Path", "os.getcwd", "x" * 255])
def test_a_path_that_leads_to_no_task_can_be_read(path):
    result = tasks.add.enqueue(1)
    Task.objects.update(task_path=path)
    assert our_backend().get_result(result.id).task.module_path.strip(".") == path


@pytest.mark.parametrize("text", ["", "null", "[]", "{", '{"args": 5}', '"text"', '{"args": [], "kwargs": []}'])
def test_a_damaged_payload_reads_as_no_arguments(text):
    from django.db import connection

    result = tasks.add.enqueue(1)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE locqueue_task SET args_kwargs = %s", [text])
    found = our_backend().get_result(result.id)
    assert (found.args, found.kwargs) == ([], {})


def test_the_backend_of_a_stored_result_may_be_gone_from_the_settings():
    result = tasks.add.enqueue(1)
    Task.objects.update(backend_alias="renamed")
    assert our_backend().get_result(result.id).backend == "renamed"


def test_a_queue_that_is_no_longer_allowed_can_be_read(settings):
    result = tasks.add.using(queue_name="old").enqueue(1)
    settings.TASKS = {"default": {**settings.TASKS["default"], "QUEUES": ["default"]}}
    assert our_backend().get_result(result.id).task.queue_name == "old"


@pytest.mark.parametrize(
    "copy", [deepcopy, lambda value: pickle.loads(pickle.dumps(value))], ids=["deepcopy", "pickle"]
)
@pytest.mark.parametrize(
    "definition",
    [
        tasks.add,
        tasks.configured,
        tasks.plain,
        retried_tasks.fail_and_wait_30,
        tasks.configured.using(priority=9, queue_name="x", metadata={"a": [1]}),
    ],
    ids=["plain", "options", "django's own decorator", "with a lambda", "a variant"],
)
def test_a_definition_can_be_copied_and_pickled(definition, copy):
    assert copy(definition) == definition


@pytest.mark.parametrize(
    "copy", [deepcopy, lambda value: pickle.loads(pickle.dumps(value))], ids=["deepcopy", "pickle"]
)
@pytest.mark.parametrize("name", ["add", "fail"])
def test_a_result_can_be_copied_and_pickled(name, copy):
    result = run_one(getattr(tasks, name).enqueue(1))
    assert copy(result) == result


@pytest.mark.parametrize(
    "copy", [deepcopy, lambda value: pickle.loads(pickle.dumps(value))], ids=["deepcopy", "pickle"]
)
def test_the_result_of_a_function_that_is_gone_can_be_pickled(copy):
    result = tasks.add.enqueue(1)
    Task.objects.update(task_path="tests.tasks.removed_last_week")
    found = our_backend().get_result(result.id)
    assert copy(found).task.module_path == "tests.tasks.removed_last_week"


def test_definitions_can_be_in_sets():
    assert len({tasks.add, tasks.add.using(priority=0), tasks.configured, retried_tasks.fail_and_wait_by_dict}) == 3


def test_a_waiting_task_can_be_cancelled():
    result = tasks.add.enqueue(1)
    assert result.cancel("not needed") is True
    result.refresh()
    assert result.status == Status.FAILED
    assert "not needed" in result.errors[0].traceback
    assert row(result).state == State.CANCELLED


def test_a_finished_task_cannot_be_cancelled():
    result = run_one(tasks.add.enqueue(1))
    assert result.cancel() is False
    result.refresh()
    assert result.status == Status.SUCCESSFUL


def test_a_failed_task_can_be_put_back_with_one_more_attempt():
    result = run_one(tasks.fail.enqueue())
    assert result.requeue() is True
    result.refresh()
    assert (result.status, result.finished_at) == (Status.READY, None)
    run_one(result)
    assert (result.status, result.attempts, len(result.errors)) == (Status.FAILED, 2, 2)


def test_a_successful_task_can_be_put_back_and_loses_its_result():
    result = run_one(tasks.add.enqueue(1))
    assert result.requeue() is True
    result.refresh()
    assert (result.status, result.finished_at, result._return_value) == (Status.READY, None, None)
    run_one(result)
    assert (result.status, result.attempts, result.return_value) == (Status.SUCCESSFUL, 2, 1)


def test_a_task_that_has_not_ended_is_not_put_back():
    assert tasks.add.enqueue(1).requeue() is False


def test_a_result_that_was_pruned_does_not_exist_any_more():
    result = run_one(tasks.add.enqueue(1))
    Task.objects.update(finished_at=timezone.now() - timedelta(days=365))
    our_backend().store.prune(our_backend().retention)
    with pytest.raises(compat.TaskResultDoesNotExist):
        result.refresh()


def test_a_result_that_nobody_wants_is_deleted_on_success():
    tasks.forgotten.enqueue()
    run_next()
    assert not Task.objects.exists()
