"""The bounded buffer and its thread."""

import os
import threading
import time

import pytest
from django.db import DataError, InterfaceError, OperationalError
from hypothesis import given
from hypothesis import strategies as st

from django_locqueue.accesslog import outbox
from django_locqueue.accesslog import recorder as module
from django_locqueue.accesslog.recorder import Recorder
from tests.accesslog.conftest import a_raw_hit
from tests.accesslog.recording import Queue, record


@pytest.fixture
def queue():
    return Queue()


LONG = 3600


def test_hits_are_sent_within_the_interval(fast_recorder, queue):
    record(fast_recorder(queue.send), "/a")
    assert queue.took.wait(30)


def test_a_full_batch_is_sent_at_once(fast_recorder, queue):
    record(fast_recorder(queue.send, INTERVAL=LONG, BATCH=2), "/a", "/b")
    assert queue.took.wait(30)


def test_flush_sends_what_is_buffered_in_batches(fast_recorder, queue):
    recorder = fast_recorder(queue.send, INTERVAL=LONG, BATCH=2)
    recorder._outbox.outage = 1  # keeps the thread away
    record(recorder, "/a", "/b", "/c")
    assert recorder.flush()
    assert queue.batches == [["/a", "/b"], ["/c"]]
    assert recorder.counts.sent == 3


def test_no_thread_runs_before_the_first_hit(fast_recorder, queue):
    assert fast_recorder(queue.send)._thread is None


def test_a_thread_that_died_is_replaced(fast_recorder, queue):
    recorder = fast_recorder(queue.send)
    record(recorder, "/a")
    recorder.stop()
    record(recorder, "/b")
    assert recorder.drain(30)
    assert queue.paths == ["/a", "/b"]


def test_a_full_buffer_drops_the_oldest_and_counts(fast_recorder, queue):
    recorder = fast_recorder(queue.send, INTERVAL=LONG, BUFFER_SIZE=2)
    record(recorder, "/a", "/b", "/c")
    assert recorder.counts.dropped == 1
    recorder.flush()
    assert queue.paths == ["/b", "/c"]


def test_a_full_buffer_can_drop_the_newest_instead(fast_recorder, queue):
    recorder = fast_recorder(queue.send, INTERVAL=LONG, BUFFER_SIZE=2, OVERFLOW="drop_new")
    record(recorder, "/a", "/b", "/c")
    recorder.flush()
    assert queue.paths == ["/a", "/b"]


def test_i9_hits_are_kept_while_the_queue_is_down_and_sent_afterwards(fast_recorder, queue):
    recorder = fast_recorder(queue.send, INTERVAL=LONG)
    queue.is_down = True
    record(recorder, "/a", "/b")
    assert not recorder.flush()
    queue.is_down = False
    assert recorder.flush()
    assert queue.paths == ["/a", "/b"]
    assert recorder.counts.failures == 1


def test_i9_the_thread_survives_an_outage(fast_recorder, queue, monkeypatch):
    monkeypatch.setattr(outbox, "LONGEST_BACKOFF_SECONDS", 0.01)
    recorder = fast_recorder(queue.send)
    queue.is_down = True
    record(recorder, "/a")
    deadline = time.monotonic() + 30
    while recorder.counts.failures < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    queue.is_down = False
    assert queue.took.wait(30)


def test_the_pause_grows_during_an_outage_up_to_a_minute():
    recorder = Recorder()
    pauses = []
    for failures in (1, 2, 5, 10_000):
        recorder._outbox.outage = failures
        pauses.append(recorder._pause())
    assert 0.75 <= pauses[0] <= 1 < pauses[1] <= 2 < pauses[2] <= 16 < pauses[3] <= 60


def test_a_full_batch_does_not_cut_the_pause_of_an_outage(fast_recorder, queue):
    recorder = fast_recorder(queue.send, INTERVAL=LONG, BATCH=2)
    queue.is_down = True
    record(recorder, "/a")
    recorder.flush()
    record(recorder, "/b", "/c", "/d")
    assert not recorder._wake.is_set()


def test_drain_waits_no_longer_than_its_deadline(fast_recorder):
    stuck = threading.Event()
    recorder = fast_recorder(lambda batch: stuck.wait(30), INTERVAL=LONG)
    record(recorder, "/a")
    begun = time.monotonic()
    assert not recorder.drain(0.05)
    assert time.monotonic() - begun < 10
    stuck.set()


def test_drain_says_when_the_queue_is_down(fast_recorder, queue):
    recorder = fast_recorder(queue.send, INTERVAL=LONG)
    queue.is_down = True
    record(recorder, "/a")
    assert not recorder.drain(5)
    queue.is_down = False
    assert recorder.drain(30)


def test_stop_is_safe_twice(fast_recorder, queue):
    recorder = fast_recorder(queue.send)
    record(recorder, "/a")
    assert recorder.stop()
    assert recorder.stop()
    assert queue.paths == ["/a"]


def test_hits_of_many_threads_are_all_sent_once(fast_recorder, queue):
    recorder = fast_recorder(queue.send, BATCH=7)
    threads = [threading.Thread(target=record, args=(recorder, *(f"/{n}/{i}" for i in range(50)))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorder.drain(30)
    assert sorted(queue.paths) == sorted(f"/{n}/{i}" for n in range(8) for i in range(50))


def test_direct_mode_sends_at_once(fast_recorder, queue):
    recorder = fast_recorder(queue.send)
    recorder.record_now(a_raw_hit("/a"))
    assert queue.paths == ["/a"]
    assert recorder._thread is None


def test_direct_mode_buffers_while_the_queue_is_down(fast_recorder, queue):
    recorder = fast_recorder(queue.send, INTERVAL=LONG)
    queue.is_down = True
    recorder.record_now(a_raw_hit("/a"))
    recorder.record_now(a_raw_hit("/b"))
    assert recorder.counts.failures == 1  # the second did not even try, so it did not wait
    queue.is_down = False
    assert recorder.flush()
    recorder.record_now(a_raw_hit("/c"))
    assert queue.batches == [["/a", "/b"], ["/c"]]


# What the queue refuses


@pytest.mark.parametrize("refusal", [TypeError("x"), ValueError("x"), RuntimeError("x"), DataError("x")])
def test_a_hit_that_the_queue_refuses_is_dropped_alone_and_is_no_outage(fast_recorder, queue, refusal, caplog):
    queue.refusal = refusal
    recorder = fast_recorder(queue.send, INTERVAL=LONG)
    record(recorder, "/a", "/b", "/bad", "/c", "/d")
    assert recorder.flush()
    assert queue.paths == ["/a", "/b", "/c", "/d"]
    counts = recorder.counts
    assert (counts.sent, counts.refused, counts.failures, recorder.buffered) == (4, 1, 0, 0)


@pytest.mark.parametrize("outage", [OperationalError("x"), InterfaceError("x"), OSError("x")])
def test_an_outage_keeps_all_hits(fast_recorder, queue, outage):
    queue.refusal = outage
    recorder = fast_recorder(queue.send, INTERVAL=LONG)
    record(recorder, "/a", "/bad")
    assert not recorder.flush()
    assert (recorder.counts.refused, recorder.counts.failures, recorder.buffered) == (0, 1, 2)


def test_a_batch_of_nothing_but_bad_hits_ends(fast_recorder, queue):
    recorder = fast_recorder(queue.send, INTERVAL=LONG, BATCH=500)
    record(recorder, *["/bad"] * 300)
    assert recorder.flush()
    assert (recorder.counts.refused, recorder.buffered) == (300, 0)


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 9))
def test_every_good_hit_is_sent_once_and_in_order_wherever_the_bad_ones_are(goods, outage_at):
    """Also if the queue goes away in the middle."""
    sent, tries = [], 0

    def send(batch):
        nonlocal tries
        tries += 1
        if tries == outage_at:
            raise OperationalError
        if any(not hit.path.startswith("/good") for hit in batch):
            raise TypeError
        sent.extend(hit.path for hit in batch)

    recorder = Recorder(send)
    paths = [f"/{'good' if good else 'bad'}/{n}" for n, good in enumerate(goods)]
    recorder._hits.extend(a_raw_hit(path) for path in paths)
    if not recorder.flush():
        assert recorder.flush()
    assert sent == [path for path in paths if path.startswith("/good")]
    assert recorder.counts.refused == goods.count(False)


def test_a_hit_that_cannot_be_cleaned_is_dropped_alone(fast_recorder, queue):
    class Unreadable:
        def __str__(self):
            raise RuntimeError("no")

    recorder = fast_recorder(queue.send, INTERVAL=LONG)
    record(recorder, "/a")
    recorder.record(a_raw_hit(user_agent=Unreadable()))
    record(recorder, "/b")
    assert recorder.flush()
    assert queue.paths == ["/a", "/b"]
    assert recorder.counts.refused == 1


def test_direct_mode_drops_what_the_queue_refuses(fast_recorder, queue):
    recorder = fast_recorder(queue.send)
    recorder.record_now(a_raw_hit("/bad"))
    recorder.record_now(a_raw_hit("/a"))
    assert queue.paths == ["/a"]
    assert (recorder.counts.refused, recorder.counts.failures, recorder.buffered) == (1, 0, 0)


async def test_direct_mode_on_an_event_loop_drops_what_the_queue_refuses(fast_recorder, queue):
    async def send(batch):
        queue.send(batch)

    recorder = fast_recorder(queue.send)
    recorder._asend = send
    await recorder.arecord_now(a_raw_hit("/bad"))
    await recorder.arecord_now(a_raw_hit("/a"))
    assert queue.paths == ["/a"]
    assert (recorder.counts.refused, recorder.buffered) == (1, 0)


@pytest.mark.parametrize("direct", [False, True])
def test_a_hit_keeps_its_id_when_it_is_tried_again(fast_recorder, direct):
    """The first try may have reached the database before the connection broke; storing it twice must be noticed."""
    tried = []

    def send(batch):
        tried.append([hit.id for hit in batch])
        if len(tried) == 1:
            raise OperationalError("the connection broke")

    recorder = fast_recorder(send, INTERVAL=LONG)
    if direct:
        recorder.record_now(a_raw_hit())
    else:
        recorder.record(a_raw_hit())
        recorder.flush()
    assert recorder.flush()
    assert tried[0] == tried[1]


@pytest.fixture
def threadless(fast_recorder, monkeypatch):
    """Return a function that makes a recorder with a hit that it could start no thread for."""

    def make(send):
        recorder = fast_recorder(send, INTERVAL=LONG)
        with monkeypatch.context() as patch:
            patch.setattr(recorder, "_start_thread", lambda: None)
            record(recorder, "/a")
        return recorder

    return make


def test_without_a_thread_too_drain_waits_no_longer_than_its_deadline(threadless):
    stuck = threading.Event()
    recorder = threadless(lambda batch: stuck.wait(30))
    begun = time.monotonic()
    assert not recorder.drain(0.05)
    assert time.monotonic() - begun < 10
    stuck.set()


def test_drain_sends_nothing_where_no_thread_can_be_had(threadless, queue, monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    recorder = threadless(queue.send)
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    assert not recorder.drain(5)
    assert queue.paths == []


def test_a_thread_that_could_not_be_started_is_tried_again(fast_recorder, queue, monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    recorder = fast_recorder(queue.send)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError):
            record(recorder, "/a")
    record(recorder, "/b")
    assert recorder.drain(30)
    assert queue.paths == ["/a", "/b"]


# Forks


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("told", [True, False], ids=["by os.fork", "by C code that told Python nothing"])
def test_a_forked_child_starts_empty_and_with_its_own_thread(fast_recorder, queue, told):
    """The parent's hits are sent once, by the parent; the child's by the child."""
    read, write = os.pipe()

    def send(batch):
        for hit in batch:
            os.write(write, f"{'child' if os.getpid() != parent else 'parent'} {hit.path}\n".encode())

    parent = os.getpid()
    recorder = fast_recorder(send, INTERVAL=LONG)
    record(recorder, "/before")
    pid = os.fork()
    if pid == 0:
        try:
            if told:
                recorder._begin()
            record(recorder, "/in-child")
            os._exit(0 if recorder.drain(5) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert recorder.drain(30)
    os.close(write)
    with os.fdopen(read) as pipe:
        assert sorted(pipe.read().splitlines()) == ["child /in-child", "parent /before"]


def test_python_tells_the_sites_recorder_of_a_fork():
    # Cannot be asked for; a child answers for it.
    module.recorder._hits.append(a_raw_hit())
    try:
        pid = os.fork()
        if pid == 0:
            os._exit(module.recorder.buffered)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        module.recorder._hits.clear()
