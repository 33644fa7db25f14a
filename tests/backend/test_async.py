"""The asynchronous half of the contract: the same facts, awaited."""

import asyncio

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from django_locqueue import compat
from tests import tasks, unique_tasks
from tests.running import run_next

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def no_connection_left_behind():
    yield
    await sync_to_async(connections.close_all)()  # of the thread that asgiref keeps


async def test_an_enqueued_task_is_ready():
    result = await tasks.add.aenqueue(1, b=2)
    assert result.status == compat.TaskResultStatus.READY
    assert (result.args, result.kwargs) == ([1], {"b": 2})


async def test_a_result_can_be_read():
    result = await tasks.add.aenqueue(1)
    assert (await tasks.add.aget_result(result.id)).id == result.id


async def test_an_unknown_id_does_not_exist():
    with pytest.raises(compat.TaskResultDoesNotExist):
        await tasks.add.aget_result("999999")


async def test_a_result_of_another_task_does_not_match():
    result = await tasks.add.aenqueue(1)
    with pytest.raises(compat.TaskResultMismatch):
        await tasks.echo.aget_result(result.id)


async def test_arguments_are_refused_as_in_the_synchronous_form():
    with pytest.raises(TypeError, match="Argument a is"):
        await tasks.add.aenqueue(object())


@pytest.mark.parametrize("definition", [tasks.echo, tasks.echo_async, tasks.plain], ids=lambda task: task.name)
async def test_a_refreshed_result_has_what_the_run_left(definition):
    result = await definition.aenqueue("hello")
    await asyncio.to_thread(run_next)
    await result.arefresh()
    assert result.status == compat.TaskResultStatus.SUCCESSFUL
    assert result.return_value == "hello"


async def test_an_asynchronous_task_that_fails_has_its_own_error():
    result = await tasks.fail_async.aenqueue("from a coroutine")
    await asyncio.to_thread(run_next)
    await result.arefresh()
    assert result.errors[0].exception_class is ValueError
    assert "from a coroutine" in result.errors[0].traceback


async def test_a_second_call_of_a_unique_task_gets_the_result_of_the_first():
    first, second = await unique_tasks.ship.aenqueue(7), await unique_tasks.ship.aenqueue(7)
    assert (second.id, second.is_duplicate) == (first.id, True)
