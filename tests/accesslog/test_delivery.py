"""Where hits go: `BACKEND`."""

import json
import logging

import pytest

from django_locqueue.accesslog.delivery import HITS_LOGGER, deliver, deliver_loss
from django_locqueue.accesslog.models import AccessLog
from django_locqueue.accesslog.privacy import visitor_keys
from django_locqueue.accesslog.recorder import Recorder
from tests.accesslog.conftest import a_hit, a_raw_hit


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, logger=HITS_LOGGER)
    return lambda: [json.loads(entry.getMessage()) for entry in caplog.records if entry.name == HITS_LOGGER]


def test_logging_writes_a_json_object_for_each_hit(configure, lines):
    configure(BACKEND="logging")
    deliver([a_hit("/a"), a_hit("/b")])
    assert [line["path"] for line in lines()] == ["/a", "/b"]
    assert lines()[0] == a_hit("/a")._asdict()


@pytest.mark.parametrize("path", ["/100%s", "/a\nb", "/\U0001f600\u2028"])
def test_a_hit_is_one_line_of_ascii_whatever_is_in_it(configure, lines, caplog, path):
    configure(BACKEND="logging")
    deliver([a_hit(path)])
    assert [line["path"] for line in lines()] == [path]
    [entry] = [entry for entry in caplog.records if entry.name == HITS_LOGGER]
    assert entry.getMessage().isascii()
    assert entry.getMessage().isprintable()


def test_logging_asks_no_database(configure, lines, caplog, monkeypatch):
    """This test may not, and would log that the visitors' key could not be read."""
    configure(BACKEND="logging")
    monkeypatch.setattr(visitor_keys.logger, "_next", {})
    recorder = Recorder(keys=visitor_keys.VisitorKeys())
    recorder._hits.append(a_raw_hit("/a"))
    assert recorder.flush()
    deliver_loss(loss_id="0", time=0.0, dropped=1, refused=0, errors=0)
    assert [line["path"] for line in lines()] == ["/a"]
    assert recorder.counts.sent == 1
    assert {entry.name for entry in caplog.records} == {HITS_LOGGER}


def test_null_records_nothing(configure, client, hits):
    configure(BACKEND="null")
    assert client.get("/page/").status_code == 200
    assert hits == []


def test_otherwise_hits_become_a_task(configure, db):
    configure()
    deliver([a_hit("/a")])
    assert AccessLog.objects.get().path == "/a"
