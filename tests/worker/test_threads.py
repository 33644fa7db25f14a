"""A range of threads: as many as the backlog needs."""

import threading

import pytest

from django_locqueue.models import State, Task, Worker
from django_locqueue.worker import growth, pool
from django_locqueue.worker.growth import Growth
from django_locqueue.worker.room import Room
from django_locqueue.worker.threads import ThreadRange
from tests import tasks
from tests.processes import wait_until


@pytest.fixture
def fast(settings, monkeypatch):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"POLL_SECONDS": (0.01, 0.05)}}
    monkeypatch.setattr(pool, "KEEP_SECONDS", 0.2)


def slots():
    return sum(thread.name.startswith("locqueue-slot") for thread in threading.enumerate())


@pytest.mark.django_db(transaction=True)
def test_threads_grow_to_the_most_while_tasks_wait_and_shrink_when_idle(serving, fast):
    tasks.barrier = threading.Barrier(16)  # passed when 16 tasks run at once
    tasks.meet_at_barrier.enqueue_many([((), {}) for _ in range(16)])
    worker = serving(threads=ThreadRange(2, 16))
    wait_until(lambda: Task.objects.successful().count() == 16)
    wait_until(lambda: slots() == 2)
    assert worker.pool.size == 2
    assert not Task.objects.exclude(attempt=1).exists()
    assert Worker.objects.get().threads == 16


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_has_shrunk_grows_again(serving, fast):
    serving(threads=ThreadRange(1, 4))
    for _ in range(2):
        tasks.barrier = threading.Barrier(4)
        tasks.meet_at_barrier.enqueue_many([((), {}) for _ in range(4)])
        wait_until(lambda: not Task.objects.exclude(state=State.SUCCESSFUL).exists())
        wait_until(lambda: slots() == 1)


@pytest.mark.django_db(transaction=True)
def test_a_worker_with_a_range_begins_with_the_least(serving, fast):
    assert serving(threads=ThreadRange(3, 9)).pool.size == 3
    wait_until(lambda: slots() == 3)


def test_a_thread_is_added_when_they_were_short_for_a_while(monkeypatch):
    monkeypatch.setattr(growth, "GROW_SECONDS", 0)
    due = Growth()
    assert [due.is_due(is_short=is_short) for is_short in (False, True, True)] == [False, False, True]


def test_no_thread_is_added_when_they_were_free_in_between():
    due = Growth()
    due.is_due(is_short=True)
    due.is_due(is_short=False)
    assert due._since is None


def test_without_async_tasks_only_free_threads_are_claimed_for():
    room = Room()
    room.note(claimed=10, are_async=0)
    assert [room.size(for_threads=threads, for_loop=100) for threads in (4, 0, -2)] == [4, 0, -2]


def test_with_async_tasks_alone_the_claim_grows_to_the_concurrency():
    room, in_hand, passes = Room(), 0, 0
    room.note(claimed=4, are_async=4)
    while in_hand < 1000:
        claimed = min(room.size(for_threads=4, for_loop=1000 - in_hand), 1000 - in_hand)
        in_hand += claimed
        room.note(claimed, are_async=claimed)
        passes += 1
    assert passes <= 4


def test_what_waits_for_a_thread_counts_against_the_claim():
    room = Room(share=0.5)
    assert room.size(for_threads=-30, for_loop=60) == 0


def test_for_threads_beside_a_full_loop_a_task_is_tried():
    room = Room(share=1.0)
    assert [room.size(for_threads=4, for_loop=places) for places in (0, -1)] == [1, 0]


def test_the_share_of_async_tasks_is_forgotten():
    room = Room(share=1.0)
    for _ in range(10):
        room.note(claimed=1, are_async=0)
    assert not room.is_mixed


def test_a_claim_that_finds_nothing_changes_no_share():
    room = Room(share=0.5)
    room.note(claimed=0, are_async=0)
    assert room.share == 0.5


@pytest.mark.parametrize(("value", "text"), [(4, "4"), ("4", "4"), ("2-16", "2-16"), ((2, 16), "2-16"), ("3-3", "3")])
def test_a_range_is_written_as_it_is_read(value, text):
    assert str(ThreadRange.of(value)) == text
