"""Assertions about what waits."""

import pytest

from django_locqueue.testing import assert_enqueued, assert_not_enqueued, enqueued, run_tasks
from tests import tasks

pytestmark = pytest.mark.django_db


def test_a_call_that_waits_is_found():
    result = tasks.add.enqueue(1, b=2)
    assert [found.id for found in enqueued(tasks.add, 1, b=2)] == [result.id]


@pytest.mark.parametrize(("args", "kwargs"), [((1,), {"b": 0}), ((1, 0), {}), ((), {"a": 1})])
def test_it_is_the_same_call_however_its_arguments_were_written(args, kwargs):
    tasks.add.enqueue(1)
    assert enqueued(tasks.add, *args, **kwargs)


def test_another_argument_is_another_call():
    tasks.add.enqueue(1)
    assert not enqueued(tasks.add, 2)
    assert not enqueued(tasks.add, 1, b=3)


def test_another_task_is_not_found():
    tasks.add.enqueue(1)
    assert not enqueued(tasks.echo, 1)


def test_without_arguments_any_call_counts():
    tasks.add.enqueue(1)
    tasks.add.enqueue(2)
    assert len(enqueued(tasks.add)) == 2


def test_the_context_is_no_argument():
    tasks.build_page.enqueue(7)
    assert enqueued(tasks.build_page, 7)
    assert enqueued(tasks.build_page, number=7)


def test_what_has_run_does_not_wait():
    tasks.add.enqueue(1)
    run_tasks()
    assert not enqueued(tasks.add, 1)


def test_a_failing_assertion_shows_what_waits_instead():
    tasks.add.enqueue(1, b=2)
    assert repr(enqueued(tasks.add, 3)) == "<tests.tasks.add(3) does not wait; what waits: tests.tasks.add(1, b=2)>"
    assert repr(enqueued(tasks.add)) == "<waiting: tests.tasks.add(1, b=2)>"


def test_where_nothing_waits_it_says_so():
    assert repr(enqueued(tasks.add, 3)) == "<tests.tasks.add(3) does not wait; nothing waits>"


def test_asserting_returns_the_results():
    result = tasks.add.enqueue(1)
    assert [found.id for found in assert_enqueued(tasks.add, 1)] == [result.id]


def test_asserting_shows_the_nearest_call_and_all_others():
    tasks.add.enqueue(1, b=2)
    tasks.echo.enqueue("something else")
    with pytest.raises(AssertionError) as raised:
        assert_enqueued(tasks.add, 1, b=3)
    assert str(raised.value).splitlines() == [
        "tests.tasks.add(1, b=3) is not in the queue.",
        "The nearest call that waits (-: wanted, +: waits):",
        "  - tests.tasks.add(1, b=3)",
        "  ?                      ^",
        "  + tests.tasks.add(1, b=2)",
        "  ?                      ^",
        "All that waits:",
        "  tests.tasks.add(1, b=2)",
        "  tests.tasks.echo('something else')",
    ]


def test_of_many_calls_the_first_are_shown():
    tasks.add.enqueue_many([((number,), {}) for number in range(13)])
    with pytest.raises(AssertionError, match=r"… and 3 more$"):
        assert_enqueued(tasks.add, 99)


def test_asserting_that_a_call_does_not_wait():
    assert_not_enqueued(tasks.add, 1)
    tasks.add.enqueue(1)
    tasks.add.enqueue(1)
    assert_not_enqueued(tasks.add, 2)
    with pytest.raises(AssertionError, match=r"tests\.tasks\.add\(1\) waits in the queue, 2 times"):
        assert_not_enqueued(tasks.add, 1)


def test_the_calls_of_a_dummy_backend_are_found(settings):
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.testing.DummyBackend", "QUEUES": []}}
    tasks.add.enqueue(1)
    assert enqueued(tasks.add, 1)
    assert_not_enqueued(tasks.add, 2)


def test_a_backend_that_keeps_nothing_cannot_be_asked(settings):
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.testing.ImmediateBackend", "QUEUES": []}}
    with pytest.raises(TypeError, match="ImmediateBackend keeps no calls"):
        enqueued(tasks.add)
