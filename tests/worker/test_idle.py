"""What an idle worker asks of the database, counted over a minute that passes at once."""

import heapq
import itertools
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_locqueue.models import Queue
from django_locqueue.scheduler import scheduler
from django_locqueue.worker import announcer, bulk, claimer, dispatcher, heartbeat, limited, maintenance
from django_locqueue.worker.listener import PING_SECONDS
from django_locqueue.worker.options import WorkerOptions
from django_locqueue.worker.worker import Worker
from tests import limited_tasks, tasks
from tests.running import our_backend
from tests.stopped_clock import StoppedClock

pytestmark = pytest.mark.django_db

SECONDS = 120
MOST_PER_SECOND = 2


@pytest.fixture
def clock(monkeypatch):
    clock = StoppedClock()
    for module in (bulk, claimer, dispatcher, heartbeat, limited, maintenance, scheduler):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(bulk, "close_connections", lambda: None)  # it is the test's
    monkeypatch.setattr(announcer, "close_old_connections", lambda: None)
    return clock


def statements_of(workers, clock, seconds):
    """Run the workers' services for a time, each when it said; return how many statements they sent."""
    number = itertools.count()
    # Not the scheduler, which sleeps: maintenance looks for it. Other tests' schedules would have it at work.
    others = [part for worker in workers for part in (worker.listener, worker.scheduler)]
    services = [each for worker in workers for each in worker.services if each not in others]
    passes = [(clock.now, next(number), service) for service in services]
    end = clock.now + seconds
    with CaptureQueriesContext(connection) as queries:
        while passes[0][0] < end:
            clock.now, _, service = heapq.heappop(passes)
            heapq.heappush(passes, (clock.now + service.run_once(), next(number), service))
    return len(queries)


def make_workers(number):
    return [Worker(our_backend(), WorkerOptions(f"w:{each}", threads=4, grace_seconds=1)) for each in range(number)]


@pytest.mark.parametrize("scheduled", [0, 3])
def test_an_idle_worker_sends_at_most_two_statements_a_second(clock, scheduled):
    for _ in range(scheduled):
        tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    [worker] = make_workers(1)
    statements_of([worker], clock, 30)  # until polling is slow
    sent = statements_of([worker], clock, SECONDS) + SECONDS / PING_SECONDS
    assert SECONDS < sent <= MOST_PER_SECOND * SECONDS


def test_a_task_that_waits_long_for_its_turn_makes_no_worker_busy(clock):
    limited_tasks.hourly.enqueue(1)
    Queue.objects.create(name="default", paused_at=timezone.now())
    [worker] = make_workers(1)
    statements_of([worker], clock, 30)
    assert statements_of([worker], clock, SECONDS) <= 2 * MOST_PER_SECOND * SECONDS


def test_idle_workers_do_not_add_to_each_others_statements(clock):
    workers = make_workers(3)
    statements_of(workers, clock, 30)
    assert statements_of(workers, clock, SECONDS) <= 3 * MOST_PER_SECOND * SECONDS
