"""Stand-ins for the parts of a worker that a test is not about."""

import threading
from datetime import UTC, datetime

from django.db import OperationalError

from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.store import Claimed
from django_locqueue.worker.execution import Execution

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def claimed(id=1, **changes):
    task = Claimed(
        id,
        1,
        1,
        1,
        0,
        0,
        "default",
        "tests.tasks.add",
        "default",
        '{"args":[1],"kwargs":{}}',
        None,
        "w:1\n",
        NOW,
        NOW,
        NOW,
        NOW,
    )
    return task._replace(**changes)


def ended(id=1, kind=Kind.SUCCESSFUL, **outcome):
    kind = Kind(kind)
    execution = Execution(claimed(id))
    execution.outcome = Outcome(kind, **outcome)
    return execution


class FakeStore:
    """Accepts every outcome but those of ``refused``, fails ``failing`` times, and can never store ``poison``."""

    def __init__(self):
        self.writes = []
        self.refused = set()
        self.poison = set()
        self.failing = 0
        self.ready = []
        self.wanted = []
        self.running = []
        self.released = []

    def ack(self, outcomes, now=None):
        if self.failing:
            self.failing -= 1
            raise OperationalError("the database is away")
        if any(task.id in self.poison and outcome.kind is not Kind.FAILED for task, outcome in outcomes):
            raise OperationalError("packet too large")
        self.writes.append([task.id for task, _ in outcomes])
        return {task.id for task, _ in outcomes} - self.refused

    def release(self, tasks, delay=0, now=None):
        self.released += tasks
        self.writes.append([("released", task.id) for task in tasks])
        return {task.id for task in tasks}

    def is_transient(self, error):
        return False

    def claim(self, owner, limit, **options):
        if self.failing:
            self.failing -= 1
            raise OperationalError("the database is away")
        self.wanted.append(limit)
        given, self.ready = self.ready[:limit], self.ready[limit:]
        return given

    def claim_from(self, queue_name, owner, limit, **options):
        return self.claim(owner, limit)

    def held(self, worker_id):
        return self.running

    def add_queues(self, names):
        self.writes.append(names)


class GatedExecutor:
    """Runs nothing: each run waits until the test opens the gate."""

    def __init__(self):
        self.gate = threading.Event()
        self.ran = []

    def run(self, execution):
        assert self.gate.wait(10)
        self.ran.append(execution)
        execution.outcome = Outcome(Kind.SUCCESSFUL)
