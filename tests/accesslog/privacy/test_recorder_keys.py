"""The key of the day is there before hits are made of what requests left."""

import json
import signal
import time
from ipaddress import ip_address

import pytest
from asgiref.sync import sync_to_async

from django_locqueue.accesslog.hit import Hit
from django_locqueue.accesslog.models import VisitorKey
from django_locqueue.accesslog.privacy.pseudonym import NETWORK, visitor
from django_locqueue.accesslog.privacy.visitor_keys import VisitorKeys
from django_locqueue.accesslog.recorder import Recorder
from django_locqueue.models import Task
from tests.accesslog.conftest import a_raw_hit
from tests.accesslog.server import Server, gunicorn


@pytest.fixture
def keys(monkeypatch):
    """Keys of a process that has just started."""
    fresh = VisitorKeys()
    monkeypatch.setattr("django_locqueue.accesslog.privacy.protection.visitor_keys", fresh)
    return fresh


@pytest.fixture
def sent():
    return []


def expected():
    return visitor("49.65.250.135", "Mozilla/5.0", bytes(VisitorKey.objects.get().key))


def of_today():
    return a_raw_hit(answered=time.time())


@pytest.mark.django_db
def test_a_flush_loads_it(keys, sent, monkeypatch):
    recorder = Recorder(sent.extend, keys=keys)
    monkeypatch.setattr(recorder, "_start_thread", lambda: None)
    recorder.record(of_today())
    recorder.flush()
    assert [hit.visitor for hit in sent] == [expected()]


@pytest.mark.django_db
def test_a_hit_that_is_sent_in_the_request_loads_it(keys, sent):
    Recorder(sent.extend, keys=keys).record_now(of_today())
    assert [hit.visitor for hit in sent] == [expected()]


@pytest.mark.django_db(transaction=True)
async def test_one_that_is_sent_on_an_event_loop_does_too(committed, keys, sent):
    async def send(hits):
        sent.extend(hits)

    await Recorder(sent.extend, send, keys=keys).arecord_now(of_today())
    assert [hit.visitor for hit in sent] == [await sync_to_async(expected)()]


@pytest.mark.processes
@pytest.mark.any_vendor
@pytest.mark.django_db(transaction=True)
def test_all_processes_of_a_server_recognise_a_visitor_and_none_tells_the_address():
    settings = {"TEST_ACCESS_LOG_KEYS": json.dumps({"INTERVAL": 3600, "IP_STORAGE": "hash"})}
    server = Server(gunicorn("-w", "2"), settings)
    try:
        server.visit(10)
        server.stop(signal.SIGTERM)
    finally:
        server.end()
    tasks = [task.args_kwargs for task in Task.objects.filter(task_path__endswith=".record_hits")]
    hits = [Hit.from_json(fields) for task in tasks for fields in task["kwargs"]["private_hits"]]
    assert len({(hit.ip, hit.visitor) for hit in hits}) == 1
    assert ip_address(hits[0].ip) in NETWORK
    assert all("127.0.0.1" not in hit for hit in hits)
    assert VisitorKey.objects.count() == 1
