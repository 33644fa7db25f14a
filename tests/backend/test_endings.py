"""Tasks that end without a run are announced like all others, and forgotten where nothing is kept."""

import sys

import pytest
from django.db import transaction

from django_locqueue import compat, endings, signals
from django_locqueue.backend import LocQueueBackend
from django_locqueue.exceptions import Cancel, WorkerLost
from django_locqueue.models import Task, TaskAttempt
from django_locqueue.store.serve import Owner
from tests import tasks
from tests.running import our_backend

pytestmark = pytest.mark.django_db(transaction=True)


class OtherBackend(LocQueueBackend):
    pass


@pytest.fixture
def finished():
    """Collect what receivers of Django's ``task_finished`` get: sender, result, and the exception at hand."""
    heard = []

    def receiver(sender, task_result, **kwargs):
        heard.append((sender, task_result, sys.exc_info()[1]))

    compat.task_finished.connect(receiver)
    yield heard
    compat.task_finished.disconnect(receiver)


@pytest.fixture
def keep_nothing(settings):
    zero = {"SUCCESSFUL": 0, "FAILED": 0, "CANCELLED": 0}
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": {"RETENTION": zero, "MAX_CRASHES": 1}}}


def dead_worker_with(definition, *args, cancel=None):
    """Let a worker die that had one task, and rescue it."""
    store = our_backend().store
    result = definition.enqueue(*args)
    worker = store.register_worker("dead", lease=60)
    store.claim(Owner(worker.pk, worker.name), 1)
    if cancel is not None:
        result.cancel(cancel)
    store.stop_worker(worker.pk)
    return result, store.rescue(max_crashes=1)


def test_a_waiting_task_that_is_cancelled_has_finished_for_django(finished):
    result = tasks.add.enqueue(1)
    result.cancel("not needed")
    [(sender, told, error)] = finished
    assert (sender, told.id, told.status) == (LocQueueBackend, result.id, compat.TaskResultStatus.FAILED)
    assert told.finished_at is not None
    assert told.errors[-1].exception_class is Cancel
    assert told.errors[-1].traceback == "not needed"
    assert isinstance(error, Cancel)


def test_a_running_task_that_is_asked_to_stop_has_not_finished(finished):
    store = our_backend().store
    result = tasks.add.enqueue(1)
    store.claim(Owner(1, "w"), 1)
    assert result.cancel()
    assert finished == []


def test_a_cancellation_that_is_rolled_back_is_not_announced(finished):
    result = tasks.add.enqueue(1)
    with transaction.atomic():
        result.cancel()
        transaction.set_rollback(True)
    assert finished == []


def test_a_cancellation_is_announced_after_the_commit(finished):
    result = tasks.add.enqueue(1)
    with transaction.atomic():
        result.cancel()
        assert finished == []
    assert len(finished) == 1


def test_the_sender_is_the_class_of_the_task_s_own_backend(finished, settings):
    other = {"BACKEND": f"{__name__}.OtherBackend", "QUEUES": []}
    settings.TASKS = {**settings.TASKS, "other": other}
    tasks.add.using(backend="other").enqueue(1).cancel()
    assert finished[0][0] is OtherBackend


def test_a_task_that_a_rescue_fails_has_finished_for_django(finished):
    result, rescued = dead_worker_with(tasks.add, 1)
    endings.announce_rescued(our_backend().store, rescued)
    [(sender, told, error)] = finished
    assert (sender, told.id, told.status) == (LocQueueBackend, result.id, compat.TaskResultStatus.FAILED)
    assert told.errors[-1].exception_class is WorkerLost
    assert isinstance(error, WorkerLost)


def test_a_task_that_a_rescue_cancels_keeps_the_reason(finished):
    _, rescued = dead_worker_with(tasks.add, 1, cancel="the order is gone")
    endings.announce_rescued(our_backend().store, rescued)
    [(_, told, error)] = finished
    assert [each.exception_class for each in told.errors] == [WorkerLost, Cancel]
    assert told.errors[-1].traceback == "the order is gone"
    assert isinstance(error, Cancel)


def test_a_task_that_a_rescue_puts_back_has_not_finished(finished):
    tasks.add.enqueue(1)
    store = our_backend().store
    worker = store.register_worker("dead", lease=-1)
    store.claim(Owner(worker.pk, worker.name), 1)
    endings.announce_rescued(our_backend().store, store.rescue(max_crashes=3))
    assert finished == []


def test_a_rescue_is_told_by_the_backend_s_class_with_all_it_knows():
    heard = []

    def receiver(sender, signal, **kwargs):
        heard.append((sender, kwargs))

    signals.task_rescued.connect(receiver)
    try:
        result, rescued = dead_worker_with(tasks.add, 1)
        endings.announce_rescued(our_backend().store, rescued)
    finally:
        signals.task_rescued.disconnect(receiver)
    told = {"task_id": int(result.id), "worker_name": "dead", "state": "failed", "crashes": 1}
    assert heard == [(LocQueueBackend, told)]


def test_what_a_dead_worker_had_not_begun_and_somebody_cancelled_has_finished(finished):
    store = our_backend().store
    result = tasks.add.enqueue(1)
    worker = store.register_worker("dead", lease=60)
    store.claim(Owner(worker.pk, worker.name), 1)
    result.cancel("why")
    endings.announce_rescued(our_backend().store, store.give_up_worker(worker.pk, begun=(), max_crashes=3))
    assert [told.errors[-1].exception_class for _, told, _ in finished] == [Cancel]


# -- RETENTION 0


def test_a_cancelled_task_that_is_not_kept_is_deleted_at_once(finished, keep_nothing):
    tasks.add.enqueue(1).cancel()
    assert not Task.objects.exists()
    assert len(finished) == 1


def test_a_task_that_a_rescue_fails_and_is_not_kept_is_deleted_at_once(finished, keep_nothing):
    _, rescued = dead_worker_with(tasks.add, 1)
    endings.announce_rescued(our_backend().store, rescued)
    assert not Task.objects.exists()
    assert not TaskAttempt.objects.exists()
    assert len(finished) == 1


def test_a_task_that_was_put_back_meanwhile_is_not_announced(finished):
    store = our_backend().store
    result = tasks.add.enqueue(1)
    store.cancel([int(result.id)])
    store.requeue([int(result.id)])
    endings.announce_ended(store, [int(result.id)])
    assert finished == []


def test_a_result_of_a_backend_that_is_gone_says_so(settings):
    result = tasks.add.enqueue(1)
    settings.TASKS = {"queue": settings.TASKS["default"]}
    with pytest.raises(Exception, match="no backend 'default'"):
        result.cancel()
