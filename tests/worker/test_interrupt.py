"""An exception that is raised in another thread's call comes there, and nowhere else."""

import sys
import threading
import time
from functools import partial

import pytest

from django_locqueue.worker.interrupt import Interruptible

MOST_CALLS = 1_000_000


class Interruption(Exception):
    """What the tests interrupt with."""


@pytest.fixture
def in_background():
    """Return a function that starts ``work`` in a thread and returns one that waits for what came of it."""
    threads = []

    def start(work):
        ends = []

        def run():
            try:
                ends.append(work())
            except BaseException as error:
                ends.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        threads.append(thread)
        return lambda: (thread.join(20), ends[0])[1]

    yield start
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


def spin_until(event):
    event.set()
    while True:
        pass


def test_a_call_that_computes_is_interrupted(in_background):
    call, began = Interruptible(), threading.Event()
    end = in_background(lambda: call.call(lambda: spin_until(began)))
    assert began.wait(10)
    assert call.interrupt(Interruption)
    assert isinstance(end(), Interruption)


def test_a_call_that_is_blocked_gets_it_when_it_comes_back(in_background):
    call, began, gate = Interruptible(), threading.Event(), threading.Lock()
    gate.acquire()
    end = in_background(lambda: call.call(lambda: (began.set(), gate.acquire(), sys.getrecursionlimit())))
    assert began.wait(10)
    assert call.interrupt(Interruption)
    gate.release()
    assert isinstance(end(), Interruption)


def test_a_call_is_interrupted_once(in_background):
    call, began = Interruptible(), threading.Event()
    end = in_background(lambda: call.call(lambda: spin_until(began)))
    assert began.wait(10)
    assert [call.interrupt(Interruption) for _ in range(3)] == [True, False, False]
    assert isinstance(end(), Interruption)


def test_a_call_that_has_not_begun_or_has_ended_is_not_interrupted():
    call = Interruptible()
    assert not call.interrupt(Interruption)
    assert call.call(lambda: 3) == 3
    assert not call.interrupt(Interruption)


def test_the_error_of_a_call_is_its_own():
    call = Interruptible()
    with pytest.raises(ZeroDivisionError):
        call.call(lambda: 1 / 0)
    assert not call.interrupt(Interruption)


def test_an_interruption_that_comes_late_disturbs_nothing_that_follows(in_background):
    # Both threads are switched as often as Python can, so that interruptions come at many points of a call's end.
    seen, present, ended = {"value": 0, "interrupted": 0}, [Interruptible()], threading.Event()

    def compute(number):
        for _ in range(number % 4):
            time.sleep(0)  # the other thread has its turn
        return number

    def work():
        try:
            for number in range(MOST_CALLS):
                present[0] = Interruptible()
                try:
                    assert present[0].call(partial(compute, number)) == number
                    seen["value"] += 1
                except Interruption:
                    seen["interrupted"] += 1
                if min(seen.values()) > 1000:
                    break
        finally:
            ended.set()
        return "undisturbed"

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        end = in_background(work)
        while not ended.is_set():
            present[0].interrupt(Interruption)
        assert end() == "undisturbed"
    finally:
        sys.setswitchinterval(before)
    assert min(seen.values()) > 1000, f"too few of one kind to say anything: {seen}"
