"""A whole worker in a thread of the test."""

import threading

import pytest

from django_locqueue.worker import worker as module
from django_locqueue.worker.options import WorkerOptions
from tests import async_tasks, tasks, timed_tasks
from tests.running import our_backend


def a_worker(**options):
    # Not the schedules of the access log: a minute begins in the middle of some test, which counts what ran.
    given = {"name": "w:1", "threads": 2, "grace_seconds": 10, "schedules": False, **options}
    return module.Worker(our_backend(), WorkerOptions(**given))


@pytest.fixture
def serving():
    """Return a function that starts a worker in a thread; it is stopped after the test."""
    running = []

    def start(**options):
        worker = a_worker(**options)
        codes = []
        thread = threading.Thread(target=lambda: codes.append(worker.run()), name="test-worker")
        thread.start()
        running.append((worker, thread))
        worker.code = lambda: (thread.join(20), codes[0])[1]
        return worker

    yield start
    tasks.gate.set()
    async_tasks.gate.open()
    timed_tasks.held.set()
    for worker, thread in running:
        worker.request_stop()
        thread.join(20)
        assert not thread.is_alive()
