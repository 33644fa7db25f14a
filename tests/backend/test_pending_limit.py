"""How a process keeps to a limit without asking the database at each call."""

import threading

import pytest
from django.db import connections

from django_locqueue import QueueFull, pending_limit
from django_locqueue.pending_limit import LOOK_SECONDS, PendingLimit
from tests.stopped_clock import StoppedClock


class Backlog:
    """A database that says how many tasks wait, and counts how often it is asked. ``seconds``: what an answer takes."""

    def __init__(self, clock, waiting=0, seconds=0.0):
        self.clock = clock
        self.waiting = waiting
        self.seconds = seconds
        self.looks = 0

    def look(self, queue_name, most):
        self.looks += 1
        self.clock.now += self.seconds
        return min(self.waiting, most)


@pytest.fixture
def clock(monkeypatch):
    clock = StoppedClock()
    monkeypatch.setattr(pending_limit, "time", clock)
    return clock


def admitted(limit, backlog, calls):
    """Return how many of so many single calls were admitted."""
    count = 0
    for _ in range(calls):
        try:
            limit.admit(1, backlog.look)
        except QueueFull:
            continue
        count += 1
    return count


def test_calls_are_admitted_up_to_the_limit(clock):
    assert admitted(PendingLimit("mail", 10), Backlog(clock), 25) == 10


def test_what_waits_already_counts(clock):
    assert admitted(PendingLimit("mail", 10), Backlog(clock, waiting=7), 25) == 3


def test_between_two_looks_the_database_is_not_asked(clock):
    backlog = Backlog(clock)
    admitted(PendingLimit("mail", 1000), backlog, 500)
    assert backlog.looks == 1


def test_a_full_queue_is_not_asked_for_more_often_than_any_other(clock):
    backlog = Backlog(clock, waiting=10)
    admitted(PendingLimit("mail", 10), backlog, 500)
    assert backlog.looks == 1


def test_after_a_look_what_workers_have_taken_is_free_again(clock):
    limit, backlog = PendingLimit("mail", 10), Backlog(clock)
    admitted(limit, backlog, 10)
    backlog.waiting = 4
    clock.now += LOOK_SECONDS
    assert admitted(limit, backlog, 10) == 6


def test_what_others_have_enqueued_is_known_after_a_look(clock):
    limit, backlog = PendingLimit("mail", 10), Backlog(clock)
    assert admitted(limit, backlog, 1) == 1
    backlog.waiting = 10
    clock.now += LOOK_SECONDS
    assert admitted(limit, backlog, 1) == 0


def test_looks_that_take_long_are_a_twentieth_of_the_time(clock):
    limit, backlog = PendingLimit("mail", 10), Backlog(clock, seconds=0.5)
    admitted(limit, backlog, 1)
    clock.now += 9
    admitted(limit, backlog, 1)
    assert backlog.looks == 1
    clock.now += 0.5
    admitted(limit, backlog, 1)
    limit._looker.join()
    assert backlog.looks == 2


def test_after_a_look_that_took_long_no_call_waits_for_the_next(clock):
    limit, backlog = PendingLimit("mail", 10), Backlog(clock, seconds=0.5)
    admitted(limit, backlog, 1)
    backlog.waiting, clock.now = 7, clock.now + 10
    go_on = threading.Event()

    def slow(queue_name, most):
        assert go_on.wait(30)
        return backlog.look(queue_name, most)

    limit.admit(1, slow)
    clock.now += 10
    limit.admit(1, slow)  # nor does it begin another
    go_on.set()
    limit._looker.join()
    assert backlog.looks == 2
    assert admitted(limit, backlog, 10) == 1  # 7 waited, and 2 came since it began


def test_after_looks_are_quick_again_a_call_looks_itself(clock):
    limit, backlog = PendingLimit("mail", 10), Backlog(clock, seconds=0.5)
    admitted(limit, backlog, 1)
    backlog.seconds = 0
    clock.now += 10
    admitted(limit, backlog, 1)
    limit._looker.join()
    clock.now += LOOK_SECONDS
    admitted(limit, backlog, 1)
    assert backlog.looks == 3


@pytest.mark.django_db
def test_a_look_beside_the_calls_leaves_no_connection_open_and_harms_none_of_them(clock, caplog):
    limit = PendingLimit("mail", 10)
    limit._took = 1
    opened = []

    def broken(queue_name, most):
        connections["default"].ensure_connection()
        opened.append(connections["default"])
        raise ConnectionError("away")

    limit.admit(1, broken)
    limit._looker.join()
    assert opened[0].connection is None
    assert "What waits in the queue 'mail' could not be counted" in caplog.text


def test_many_calls_are_admitted_all_or_none(clock):
    limit, backlog = PendingLimit("mail", 10), Backlog(clock)
    with pytest.raises(QueueFull):
        limit.admit(11, backlog.look)
    limit.admit(10, backlog.look)


def test_what_is_admitted_while_another_thread_looks_is_counted(clock):
    limit, backlog = PendingLimit("mail", 10), Backlog(clock, waiting=5)
    looking, go_on = threading.Event(), threading.Event()

    def slow(queue_name, most):
        looking.set()
        assert go_on.wait(30)
        return backlog.look(queue_name, most)

    thread = threading.Thread(target=limit.admit, args=(1, slow))
    thread.start()
    assert looking.wait(30)
    assert admitted(limit, backlog, 4) == 4  # does not wait for the other's answer
    go_on.set()
    thread.join()
    assert admitted(limit, backlog, 10) == 0  # 5 waited, 4 and 1 came


def test_a_database_that_fails_says_so_and_does_not_let_the_next_wait_for_it(clock):
    limit, backlog = PendingLimit("mail", 10), Backlog(clock)

    def broken(queue_name, most):
        raise ConnectionError("away")

    with pytest.raises(ConnectionError):
        limit.admit(1, broken)
    assert admitted(limit, backlog, 1) == 1
    assert backlog.looks == 0


def test_the_error_says_what_is_full_and_what_to_do(clock):
    with pytest.raises(QueueFull) as raised:
        PendingLimit("mail", 1000).admit(1, Backlog(clock, waiting=1000).look)
    error = raised.value
    assert (error.queue_name, error.limit, error.pending, error.count) == ("mail", 1000, 1000, 1)
    assert str(error) == (
        "The queue 'mail' is full: 1,000 tasks wait, and its MAX_PENDING is 1,000. "
        "Try again later, start more workers, or raise the limit in the backend's OPTIONS."
    )


def test_more_calls_than_a_queue_can_ever_hold_are_told_so(clock):
    with pytest.raises(QueueFull, match="1,001 calls at once are more than its MAX_PENDING of 1,000"):
        PendingLimit("mail", 1000).admit(1001, Backlog(clock).look)
