"""Time travel: the queue's clock, and no other."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from django_locqueue import clock
from django_locqueue.models import State, Task
from django_locqueue.testing import travel
from tests import tasks
from tests.running import our_backend, row

pytestmark = pytest.mark.django_db

NEAR = timedelta(minutes=1)  # what a slow machine may need between two statements


def now():
    return our_backend().store.now()


@pytest.mark.parametrize("step", [3600, 3600.0, timedelta(hours=1)])
def test_the_clock_is_put_forward_for_a_block(step):
    before = now()
    with travel(step):
        assert timedelta(hours=1) <= now() - before < timedelta(hours=1) + NEAR
    assert now() - before < NEAR


def test_the_clock_can_be_put_to_a_moment():
    moment = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    with travel(moment):
        assert moment - timedelta(seconds=1) <= now() < moment + NEAR


def test_the_past_can_be_visited():
    moment = datetime(2001, 2, 3, tzinfo=UTC)
    with travel(moment):
        assert now() - moment < NEAR


def test_travels_add_up_and_are_taken_back_one_by_one():
    before = now()
    with travel(3600):
        with travel(3600):
            assert now() - before >= timedelta(hours=2)
        assert now() - before < timedelta(hours=1) + NEAR


def test_the_clock_is_set_back_after_an_error():
    with pytest.raises(LookupError), travel(3600):
        raise LookupError
    assert clock.seconds_ahead() == 0


def test_a_function_can_be_decorated():
    before = now()

    @travel(3600)
    def later():
        return now()

    assert later() - before >= timedelta(hours=1)
    assert clock.seconds_ahead() == 0


def test_a_small_step_is_kept():
    with travel(0.25):
        before = now()
        with travel(0.5):
            assert now() - before >= timedelta(milliseconds=499)  # SQLite's clock has milliseconds


def test_what_is_due_by_the_clock_is_promoted():
    result = tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    store = our_backend().store
    assert store.promote() == 0
    with travel(3601):
        assert store.promote() == 1
    assert row(result).state == State.READY


def test_what_is_enqueued_meanwhile_is_of_that_time():
    with travel(timedelta(days=30)):
        result = tasks.add.enqueue(1)
        many = tasks.add.enqueue_many([((number,), {}) for number in range(150)])
    for each in (result, many[0]):
        assert row(each).enqueued_at - timezone.now() > timedelta(days=29)


def test_whether_a_call_is_due_is_judged_by_that_time():
    moment = timezone.now() + timedelta(hours=1)
    with travel(7200):
        due = tasks.add.using(run_after=moment).enqueue(1)
    not_due = tasks.add.using(run_after=moment).enqueue(1)
    assert (row(due).state, row(not_due).state) == (State.READY, State.SCHEDULED)


def test_expressions_of_the_orm_go_by_it():
    tasks.add.enqueue(1)
    with travel(3600):
        Task.objects.update(run_after=clock.DatabaseNow())
    assert Task.objects.get().run_after - timezone.now() > timedelta(minutes=59)


def test_python_s_time_stays():
    before = timezone.now()
    with travel(3600):
        assert timezone.now() - before < NEAR


@pytest.mark.parametrize("step", ["3600", None, True])
def test_anything_else_is_refused(step):
    with pytest.raises(TypeError, match="seconds, a timedelta or a datetime"):
        travel(step)
