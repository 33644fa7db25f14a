"""What a worker does at once, instead of at its next poll."""

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from django_locqueue.models import State
from django_locqueue.policies.outcome import Kind
from django_locqueue.service import AGAIN_SECONDS, Service
from django_locqueue.store import notify
from django_locqueue.worker.options import WorkerOptions
from django_locqueue.worker.worker import Worker
from tests import tasks
from tests.running import our_backend
from tests.worker.fakes import ended

pytestmark = pytest.mark.django_db


class Loop(Service):
    def run_once(self, now=None):
        return 3600


def test_who_is_told_looks_again_when_the_window_of_the_news_is_over():
    loop = Loop()
    loop.wake(again=True)
    loop._again_at += 60
    assert 0 < loop._pass() <= 60 + AGAIN_SECONDS
    loop._again_at = time.monotonic()
    assert loop._pass() == 3600
    assert AGAIN_SECONDS > notify.WINDOW_SECONDS


def test_another_wake_in_between_does_not_take_the_second_look_away():
    loop = Loop()
    loop.wake(again=True)
    loop._again_at += 60
    assert loop._pass() <= 60 + AGAIN_SECONDS
    loop.wake()
    assert loop._pass() <= 60 + AGAIN_SECONDS


def test_a_pass_that_began_before_the_window_was_over_is_not_the_last():
    class Slow(Loop):
        def run_once(self, now=None):
            self._again_at = time.monotonic()
            return 3600

    loop = Slow()
    loop.wake(again=True)
    assert loop._pass() == 0


@pytest.fixture
def make_worker():
    def make(**options):
        return Worker(our_backend(), WorkerOptions("w:1", threads=1, grace_seconds=1, **options))

    return make


def woken(worker):
    return {each.name for each in (worker.dispatcher, worker.maintenance) if each._wake.is_set()}


@pytest.mark.parametrize(
    ("served", "told", "wakes"),
    [
        ({}, "mail", {"dispatcher"}),
        ({"queues": ("mail",)}, "mail", {"dispatcher"}),
        ({"queues": ("mail",)}, "other", set()),
        ({"exclude_queues": ("mail",)}, "mail", set()),
        ({"exclude_queues": ("mail",)}, "other", {"dispatcher"}),
        ({"queues": ("mail",)}, notify.ANY, {"dispatcher", "maintenance"}),
    ],
)
def test_a_worker_is_woken_by_the_queues_that_it_serves(make_worker, served, told, wakes):
    worker = make_worker(**served)
    worker._on_notified(told)
    assert woken(worker) == wakes


@pytest.mark.parametrize("kind", [Kind.RETRIED, Kind.SNOOZED])
def test_a_task_of_its_own_that_is_ready_again_needs_no_poll(make_worker, kind):
    worker = make_worker()
    execution = ended(kind=kind)
    execution.written = State.READY
    worker._on_stored([execution])
    assert woken(worker) == {"dispatcher"}


@pytest.mark.parametrize(("delay", "wakes"), [(0.2, {"maintenance"}), (60, set())])
def test_maintenance_hears_of_a_retry_that_is_due_before_it_looks(make_worker, delay, wakes):
    worker = make_worker()
    execution = ended(kind=Kind.RETRIED, delay=delay)
    execution.written = State.SCHEDULED
    worker._on_stored([execution])
    assert woken(worker) == wakes


def test_what_is_due_sooner_than_maintenance_looks_makes_it_look_in_time(make_worker):
    worker = make_worker()
    worker.maintenance.run_once()
    tasks.add.using(run_after=timezone.now() + timedelta(seconds=0.3)).enqueue(1)
    assert worker.maintenance.run_once() <= 0.301  # SQLite knows milliseconds only


def test_only_postgresql_has_a_listener(make_worker):
    names = [service.name for service in make_worker().services]
    assert ("listener" in names) == (connection.vendor == "postgresql")


def test_no_listener_without_listen(make_worker, settings):
    settings.LOCQUEUE = {"WORKER": {"LISTEN": False}}
    assert make_worker().listener is None
