"""`OVERFLOW = "spool"`: what the queue cannot take is written to files, and sent when it can."""

import threading
import time

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from django_locqueue.accesslog.recorder import Recorder
from django_locqueue.accesslog.spool import Spool, SpoolFile
from tests.accesslog.conftest import a_hit, a_raw_hit
from tests.accesslog.recording import Queue, record
from tests.processes import wait_until

LONG = 3600
FAR = time.monotonic() + 86_400  # the whole suite is collected before the first test runs


@pytest.fixture
def queue():
    return Queue()


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path)


@pytest.fixture
def spooling_recorder(fast_recorder, spool):
    def make(send, **keys):
        return fast_recorder(send, OVERFLOW="spool", SPOOL_DIR=str(spool.folder), **keys)

    return make


def spooled(spool):
    """Return the paths that are in the spool, and leave them there."""
    hits = [hit for path in sorted(spool.folder.iterdir()) for hit in SpoolFile(path).read()[0]]
    return [hit.path for hit in hits]


def test_i9_hits_of_an_outage_are_spooled_and_leave_the_memory(spooling_recorder, queue, spool):
    recorder = spooling_recorder(queue.send, INTERVAL=LONG, BATCH=2)
    queue.is_down = True
    record(recorder, "/a", "/b", "/c")
    assert recorder.drain(30)
    assert spooled(spool) == ["/a", "/b", "/c"]
    assert (recorder.buffered, recorder.counts.spooled, recorder.counts.dropped) == (0, 3, 0)


def test_i9_when_the_queue_is_back_the_thread_sends_what_was_spooled(spooling_recorder, queue, spool, monkeypatch):
    monkeypatch.setattr("django_locqueue.accesslog.outbox.LONGEST_BACKOFF_SECONDS", 0.01)
    recorder = spooling_recorder(queue.send)
    queue.is_down = True
    record(recorder, "/a", "/b")
    wait_until(lambda: recorder.counts.spooled == 2)
    queue.is_down = False
    wait_until(lambda: recorder.counts.imported == 2)
    assert queue.paths == ["/a", "/b"]
    assert list(spool.folder.iterdir()) == []


def test_what_another_process_left_is_sent(spooling_recorder, queue, spool):
    spool.write([a_hit("/theirs")])
    recorder = spooling_recorder(queue.send)
    record(recorder, "/ours")
    wait_until(lambda: recorder.counts.imported == 1)
    assert sorted(queue.paths) == ["/ours", "/theirs"]


def test_a_file_that_could_not_be_sent_stays(spooling_recorder, queue, spool):
    spool.write([a_hit("/theirs")])
    recorder = spooling_recorder(queue.send, INTERVAL=LONG)
    queue.is_down = True
    assert not recorder._spooling.send(spool, recorder._send, 500)
    assert (spooled(spool), recorder.buffered) == (["/theirs"], 0)


def test_a_spooled_hit_that_the_queue_refuses_is_dropped_alone(spooling_recorder, queue, spool):
    spool.write([a_hit("/a"), a_hit("/bad"), a_hit("/b")])
    recorder = spooling_recorder(queue.send)
    assert recorder._spooling.send(spool, recorder._send, 500)
    assert queue.paths == ["/a", "/b"]
    assert recorder.counts.refused == 1
    assert list(spool.folder.iterdir()) == []


def test_new_hits_go_before_a_long_spool(spooling_recorder, queue, spool):
    recorder = spooling_recorder(queue.send, INTERVAL=LONG, BATCH=1)
    spool.write([a_hit("/old")])
    recorder._hits.append(a_raw_hit("/new"))
    assert recorder._spooling.send(spool, recorder._send, 1)
    assert queue.paths == []
    assert recorder.flush()
    assert recorder._spooling.send(spool, recorder._send, 1)
    assert queue.paths == ["/new", "/old"]


def test_a_crowded_buffer_is_spooled_while_the_database_says_nothing(spooling_recorder, spool):
    """The thread that sends hangs; no request waits, and none is dropped."""
    hangs = threading.Event()
    recorder = spooling_recorder(lambda batch: hangs.wait(30), INTERVAL=LONG, BATCH=2, BUFFER_SIZE=8)
    record(recorder, "/0", "/1")
    wait_until(lambda: recorder._outbox.batch)
    for number in range(2, 20):
        record(recorder, f"/{number}")
        recorder._spooling.wait(FAR)
    assert recorder.counts.dropped == 0
    assert recorder.counts.spooled >= 10
    hangs.set()


def test_what_a_hanging_database_has_in_hand_is_spooled_at_the_end(spooling_recorder, spool):
    hangs = threading.Event()
    recorder = spooling_recorder(lambda batch: hangs.wait(30), INTERVAL=LONG, BATCH=2)
    record(recorder, "/a", "/b")
    wait_until(lambda: recorder._outbox.batch)
    record(recorder, "/c")
    assert recorder.drain(0.05)
    assert spooled(spool) == ["/a", "/b", "/c"]
    hangs.set()


def test_a_full_spool_drops_the_oldest_as_a_full_buffer_does(spooling_recorder, queue, monkeypatch):
    monkeypatch.setattr("django_locqueue.accesslog.spool.MOST_BYTES", 0)
    recorder = spooling_recorder(queue.send, INTERVAL=LONG, BUFFER_SIZE=4)
    recorder._outbox.outage = 1  # keeps the thread away
    for path in ("/a", "/b", "/c", "/d", "/e"):
        record(recorder, path)
        recorder._spooling.wait(FAR)
    assert recorder.counts.dropped == 1
    recorder.flush()
    assert queue.paths == ["/b", "/c", "/d", "/e"]


def test_a_folder_that_is_gone_loses_nothing_while_there_is_memory(spooling_recorder, queue, spool):
    spool.folder.rmdir()
    recorder = spooling_recorder(queue.send, INTERVAL=LONG)
    queue.is_down = True
    record(recorder, "/a")
    assert not recorder.drain(30)
    queue.is_down = False
    assert recorder.flush()
    assert queue.paths == ["/a"]


def test_a_disk_that_is_full_is_not_asked_at_every_request(spooling_recorder, queue, spool):
    spool.folder.rmdir()
    recorder = spooling_recorder(queue.send, INTERVAL=LONG, BUFFER_SIZE=2)
    recorder._outbox.outage = 1
    record(recorder, "/a", "/b")
    recorder._spooling.wait(FAR)
    again = recorder._spooling._not_before
    record(recorder, "/c", "/d")
    assert (recorder._spooling._busy.locked(), recorder._spooling._not_before) == (False, again)


def test_when_another_process_has_sent_the_spool_the_outage_is_over(spooling_recorder, queue, spool):
    recorder = spooling_recorder(queue.send, INTERVAL=LONG)
    queue.is_down = True
    record(recorder, "/a")
    assert recorder.drain(30)
    for path in spool.folder.iterdir():
        path.unlink()
    assert recorder._spooling.send(spool, recorder._send, 500)
    assert recorder._pause() == LONG


STEPS = st.lists(st.sampled_from(["record", "record", "work", "down", "up", "restart", "crowd"]), max_size=40)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(STEPS)
def test_whatever_goes_down_and_restarts_every_hit_is_sent_once(configure, tmp_path_factory, steps):
    spool = Spool(tmp_path_factory.mktemp("spool"))
    configure(OVERFLOW="spool", SPOOL_DIR=str(spool.folder), BATCH=3, BUFFER_SIZE=1000)
    queue, recorded = Queue(), []

    def begin():
        recorder = Recorder(queue.send, send_loss=lambda **loss: None)
        recorder._thread = threading.main_thread()  # so that it starts none: it works when the steps say so
        return recorder

    def work():
        thread = threading.Thread(target=recorder._work)  # on connections of its own
        thread.start()
        thread.join()

    recorder = begin()
    for step in [*steps, "restart", "up", "work", "work"]:
        if step == "record":
            recorded.append(f"/{len(recorded)}")
            record(recorder, recorded[-1])
        elif step == "work":
            work()
        elif step == "crowd":
            recorder._spooling.begin(spool, 3, leave=1)
            recorder._spooling.wait(FAR)
        elif step == "restart":
            assert recorder.drain(0)
            recorder = begin()
        else:
            queue.is_down = step == "down"
    assert sorted(queue.paths) == sorted(recorded)
    assert list(spool.folder.iterdir()) == []
