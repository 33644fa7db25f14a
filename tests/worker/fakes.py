"""Stand-ins for the parts of a worker that a test is not about."""

import threading
from datetime import UTC, datetime

from django.db import DataError, OperationalError

from django_locqueue.models import FINISHED, State
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.store import Claimed
from django_locqueue.store.serve import Look
from django_locqueue.worker.call import Way
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
        None,
        None,
        None,
        "w:1\n",
        NOW,
        NOW,
        NOW,
        NOW,
    )
    return task._replace(**changes)


def ended(id=1, kind=Kind.SUCCESSFUL, claim_no=1, **outcome):
    kind = Kind(kind)
    execution = Execution(claimed(id, claim_no=claim_no))
    execution.outcome = Outcome(kind, **outcome)
    return execution


class FakeStore:
    """Accepts every outcome but those of ``refused``, fails ``failing`` times, and can never store ``poison``."""

    def __init__(self):
        self.writes = []
        self.refused = set()
        self.refused_claims = set()
        self.confirmed = set()
        self.cancelled = set()
        self.ack_failing = 0
        self.poison = set()
        self.failing = 0
        self.error = OperationalError("the database is away")
        self.ready = []
        self.wanted = []
        self.running = []
        self.released = []
        self.claimed_from = []

    def _fail_while_away(self):
        if self.failing:
            self.failing -= 1
            raise self.error

    def ack(self, outcomes, now=None):
        self._fail_while_away()
        if self.ack_failing:
            self.ack_failing -= 1
            raise self.error
        if any(task.id in self.poison and outcome.kind is not Kind.FAILED for task, outcome in outcomes):
            raise DataError("value too large")
        self.writes.append([task.id for task, _ in outcomes])
        return {
            task.key: self._written(task, outcome)
            for task, outcome in outcomes
            if task.id not in self.refused and task.key not in self.refused_claims
        }

    def _written(self, task, outcome):
        if task.id in self.cancelled:
            return State.CANCELLED
        return State(outcome.kind) if outcome.kind in FINISHED else State.READY

    def confirm(self, outcomes):
        return {task.key: self._written(task, outcome) for task, outcome in outcomes if task.id in self.confirmed}

    def release(self, tasks, delay=0, now=None):
        self.released += tasks
        self.writes.append([("released", task.id) for task in tasks])
        return {task.key: State.READY for task in tasks}

    def now(self):
        self._fail_while_away()
        return NOW

    def is_transient(self, error):
        return "locked" in str(error)

    def look(self, now=None):
        return Look([], is_limited=False)

    def claim(self, owner, limit, **options):
        self._fail_while_away()
        self.wanted.append(limit)
        given, self.ready = self.ready[:limit], self.ready[limit:]
        return given

    def claim_from(self, queue_name, owner, limit, **options):
        self.claimed_from.append(queue_name)
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
        self.chunked = set()  # paths
        self.unknown = set()

    def way_of(self, path):
        return None if path in self.unknown else Way(in_chunks=path in self.chunked)

    def run(self, execution):
        assert self.gate.wait(10)
        self.ran.append(execution)
        execution.outcome = Outcome(Kind.SUCCESSFUL)
