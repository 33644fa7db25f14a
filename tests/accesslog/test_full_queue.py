"""What the recorder does when the queue is full (`MAX_PENDING`)."""

import pytest

from django_locqueue import QueueFull
from django_locqueue.accesslog import outbox
from tests.accesslog.conftest import a_raw_hit
from tests.accesslog.recording import Queue, record

LONG = 3600


@pytest.fixture
def queue():
    return Queue()


def test_what_a_full_queue_refuses_is_kept_and_counted(fast_recorder, queue, monkeypatch):
    recorder = fast_recorder(queue.send, INTERVAL=LONG)
    recorder._outbox.outage = 1  # keeps the thread away
    record(recorder, "/a", "/b")
    monkeypatch.setattr(recorder, "_send", refuse_as_full)
    assert not recorder.flush()
    assert (recorder.buffered, recorder.counts.full, recorder.counts.failures, recorder.counts.refused) == (2, 1, 0, 0)


def test_when_there_is_room_again_it_is_sent(fast_recorder, queue, monkeypatch):
    recorder = fast_recorder(queue.send, INTERVAL=LONG)
    recorder._outbox.outage = 1
    record(recorder, "/a")
    with monkeypatch.context() as full:
        full.setattr(recorder, "_send", refuse_as_full)
        recorder.flush()
    assert recorder.flush()
    assert queue.paths == ["/a"]


@pytest.mark.parametrize(("overflow", "kept"), [("drop_oldest", ["/b", "/c"]), ("drop_new", ["/a", "/b"])])
def test_while_the_queue_is_full_the_drop_policy_decides(fast_recorder, queue, monkeypatch, overflow, kept):
    recorder = fast_recorder(queue.send, INTERVAL=LONG, BUFFER_SIZE=2, OVERFLOW=overflow)
    recorder._outbox.outage = 1
    with monkeypatch.context() as full:
        full.setattr(recorder, "_send", refuse_as_full)
        record(recorder, "/a", "/b", "/c")
    recorder.flush()
    assert queue.paths == kept
    assert recorder.counts.dropped == 1


def test_the_log_says_that_the_queue_is_full_without_a_traceback(fast_recorder, queue, monkeypatch, caplog):
    recorder = fast_recorder(refuse_as_full, INTERVAL=LONG)
    recorder._outbox.outage = 1
    record(recorder, "/a")
    monkeypatch.setattr(outbox.logger, "_next", {})
    recorder.flush()
    [line] = [each for each in caplog.records if "tried again" in each.message]
    assert "The queue 'log' is full" in line.message
    assert not line.exc_info


def test_in_direct_mode_a_request_to_a_full_queue_is_buffered(fast_recorder):
    recorder = fast_recorder(refuse_as_full, INTERVAL=LONG)
    recorder.record_now(a_raw_hit("/a"))
    assert (recorder.buffered, recorder.counts.full) == (1, 1)


def refuse_as_full(batch):
    raise QueueFull("log", 1, 1)
