"""A task that no worker begins within its time is cancelled, and does not run."""

from datetime import timedelta

import pytest

from django_locqueue import compat, task
from django_locqueue.models import State, Task
from django_locqueue.store import store_for
from tests.running import make_ready, row, run_next

pytestmark = pytest.mark.django_db(transaction=True)


@task(expires=60)
def within_a_minute() -> str:
    return "in time"


@task(expires=60, max_attempts=2, backoff=3600.0)
def fail_within_a_minute() -> None:
    raise OSError("try again")


def enqueued(definition, *, seconds_ago, run_after=None):
    result = definition.enqueue()
    at = store_for("default").now() - timedelta(seconds=seconds_ago)
    Task.objects.update(enqueued_at=at, run_after=run_after or at)
    return result


def test_one_that_waited_too_long_is_cancelled_and_says_so():
    result = enqueued(within_a_minute, seconds_ago=61)
    run_next()
    stored = row(result)
    assert (stored.state, stored.return_value) == (State.CANCELLED, None)
    assert stored.error_class == "django_locqueue.exceptions.Expired"
    assert stored.error_message == "expired: it was to start within 60 s, and a worker took it after 61 s"


def test_one_in_time_runs():
    result = enqueued(within_a_minute, seconds_ago=55)
    run_next()
    assert row(result).state == State.SUCCESSFUL


def test_it_is_counted_from_when_it_could_first_start():
    now = store_for("default").now()
    result = enqueued(within_a_minute, seconds_ago=3600, run_after=now - timedelta(seconds=30))
    run_next()
    assert row(result).state == State.SUCCESSFUL


def test_one_that_began_in_time_may_be_tried_again_later():
    result = enqueued(fail_within_a_minute, seconds_ago=0)
    run_next()
    Task.objects.update(enqueued_at=store_for("default").now() - timedelta(hours=1))
    make_ready(result)
    Task.objects.update(run_after=store_for("default").now() - timedelta(hours=1))
    run_next()
    assert row(result).error_class == "builtins.OSError"


def test_many_calls_have_it_too():
    within_a_minute.enqueue_many([((), {})] * 200)
    assert set(Task.objects.values_list("terms", flat=True)) == {'{"expires":60.0}'}


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), "60", True])
def test_what_is_no_time_is_refused(seconds):
    with pytest.raises(compat.InvalidTask, match="expires must be a number of seconds above 0, or None, got"):
        task(expires=seconds)(within_a_minute.func)
