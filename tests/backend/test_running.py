"""What Django's three signals tell, and what a failing task leaves behind."""

import sys
from contextlib import contextmanager

import pytest

from django_locqueue import compat
from django_locqueue.backend import LocQueueBackend
from django_locqueue.models import Task
from tests import retried_tasks, tasks
from tests.running import run_next, run_one

pytestmark = pytest.mark.django_db(transaction=True)

SIGNALS = {
    "enqueued": compat.task_enqueued,
    "started": compat.task_started,
    "finished": compat.task_finished,
}


@contextmanager
def heard(note=lambda result: result.status):
    """Collect ``(signal, note(result))`` of what our backend sends."""
    seen = []
    receivers = []
    for name, signal in SIGNALS.items():

        def receiver(sender, task_result, name=name, **kwargs):
            seen.append((name, note(task_result)))

        signal.connect(receiver, sender=LocQueueBackend)
        receivers.append((signal, receiver))
    try:
        yield seen
    finally:
        for signal, receiver in receivers:
            signal.disconnect(receiver, sender=LocQueueBackend)


def test_the_signals_of_a_success_come_in_order_with_its_status():
    with heard() as seen:
        tasks.add.enqueue(1)
        run_next()
    assert seen == [("enqueued", "READY"), ("started", "RUNNING"), ("finished", "SUCCESSFUL")]


def test_the_signals_of_a_failure_come_in_order_with_its_status():
    with heard() as seen:
        tasks.fail.enqueue()
        run_next()
    assert seen == [("enqueued", "READY"), ("started", "RUNNING"), ("finished", "FAILED")]


@pytest.mark.parametrize("name", ["fail", "fail_async", "interrupt", "close_generator", "recurse"])
def test_the_exception_of_a_failure_is_at_hand_for_receivers(name):
    with heard(lambda result: sys.exc_info()[0]) as seen:
        result = getattr(tasks, name).enqueue()
        run_next()
    result.refresh()
    assert dict(seen)["finished"] is result.errors[0].exception_class
    assert dict(seen)["started"] is None


def test_no_exception_is_at_hand_after_a_success():
    with heard(lambda result: sys.exc_info()[0]) as seen:
        tasks.add.enqueue(1)
        run_next()
    assert dict(seen)["finished"] is None


def test_the_finished_result_holds_what_the_task_returned():
    with heard(lambda result: result.return_value if result.is_finished else None) as seen:
        tasks.add.enqueue(1, b=2)
        run_next()
    assert dict(seen)["finished"] == 3


def test_the_finished_result_holds_the_error_and_the_times():
    with heard(
        lambda result: (len(result.errors), result.started_at is not None, result.finished_at is not None)
    ) as seen:
        tasks.fail.enqueue()
        run_next()
    assert dict(seen) == {
        "enqueued": (0, False, False),
        "started": (0, True, False),
        "finished": (1, True, True),
    }


def test_a_try_that_is_repeated_is_started_and_not_finished():
    with heard() as seen:
        retried_tasks.fail_and_wait_30.enqueue()
        run_next()
    assert [name for name, _ in seen] == ["enqueued", "started"]


def test_each_try_is_started(tmp_path):
    with heard(lambda result: result.attempts) as seen:
        retried_tasks.fail_until.enqueue(str(tmp_path / "ledger"), 3)
        run_next(3)
    assert seen == [("enqueued", 0), ("started", 1), ("started", 2), ("started", 3), ("finished", 3)]


def test_a_task_that_cannot_be_found_is_finished_without_being_started(settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"UNKNOWN_TASK_SECONDS": 0}}
    with heard() as seen:
        tasks.add.enqueue(1)
        Task.objects.update(task_path="tests.tasks.removed")
        run_next()
    assert seen == [("enqueued", "READY"), ("finished", "FAILED")]


@pytest.mark.parametrize("signal", [compat.task_started, compat.task_finished], ids=["started", "finished"])
def test_a_receiver_that_raises_harms_neither_the_task_nor_the_next(signal):
    def receiver(sender, **kwargs):
        raise RuntimeError("a broken receiver")

    signal.connect(receiver, sender=LocQueueBackend)
    try:
        first, second = tasks.add.enqueue(1), tasks.add.enqueue(2)
        run_next(2)
    finally:
        signal.disconnect(receiver, sender=LocQueueBackend)
    for result in (first, second):
        result.refresh()
        assert result.status == compat.TaskResultStatus.SUCCESSFUL


def test_a_task_gets_its_context():
    result = tasks.describe_context.using(metadata={"tenant": "acme"}).enqueue()
    run_one(result)
    assert result.return_value == {
        "id": result.id,
        "status": "RUNNING",
        "attempt": 1,
        "metadata": {"tenant": "acme"},
        "should_stop": False,
        "errors": 0,
    }


def test_a_context_without_metadata_holds_an_empty_dict():
    assert run_one(tasks.describe_context.enqueue()).return_value["metadata"] == {}


def test_a_task_of_djangos_own_decorator_gets_its_context():
    assert run_one(tasks.plain_with_context.enqueue()).return_value == 1


def test_what_a_failed_task_raised_is_logged_by_django_with_its_traceback(caplog):
    tasks.fail.enqueue("look here")
    run_next()
    [record] = [
        r
        for r in caplog.records
        if r.name.startswith(("django.tasks", "django_tasks")) and r.exc_info and r.exc_info[0]
    ]
    assert record.exc_info[0] is ValueError
