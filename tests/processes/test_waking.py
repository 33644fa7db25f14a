"""An idle worker starts a new task without waiting for its next poll, which here never comes. PostgreSQL only."""

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from django_locqueue.models import State
from django_locqueue.store import store_for
from django_locqueue.store.notify import LISTENER, Notifier
from tests import retried_tasks, tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

NO_POLLS = {"TEST_LOCQUEUE_WORKER": json.dumps({"POLL_SECONDS": [3600, 3600]})}


@pytest.fixture(autouse=True)
def store(monkeypatch):
    if connection.vendor != "postgresql":
        pytest.skip("LISTEN is PostgreSQL's")
    store = store_for("default")
    monkeypatch.setattr(store, "notifier", Notifier(store))
    return store


def listeners():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = %s AND query LIKE '%%LISTEN%%'", [LISTENER]
        )
        return cursor.fetchone()[0]


@pytest.fixture
def idle_worker(run_fast_worker):
    """Return a function that starts a worker which does not poll, and waits until it listens and has polled once."""

    def run(*options):
        worker = run_fast_worker(*options, env=NO_POLLS)
        wait_until(listeners, worker)
        done = tasks.add.using(queue_name=options[-1] if "--queue" in options else "default").enqueue(1)
        wait_until(lambda: row(done).state == State.SUCCESSFUL, worker)
        return worker

    return run


def test_a_new_task_is_started(idle_worker, store):
    worker = idle_worker()
    for _ in range(3):
        store.notifier._quiet_until.clear()
        result = tasks.add.enqueue(1)
        wait_until(lambda: row(result).state == State.SUCCESSFUL, worker)  # noqa: B023


def test_tasks_that_come_in_one_burst_are_all_started(idle_worker):
    worker = idle_worker()
    results = [tasks.add.enqueue(number) for number in range(50)]
    wait_until(lambda: all(row(result).state == State.SUCCESSFUL for result in results), worker)


def test_a_task_that_is_due_soon_is_started(idle_worker):
    worker = idle_worker()
    result = tasks.add.using(run_after=timezone.now() + timedelta(seconds=0.3)).enqueue(1)
    wait_until(lambda: row(result).state == State.SUCCESSFUL, worker)
    stored = row(result)
    assert stored.started_at >= stored.run_after


def test_a_task_that_is_tried_again_is_started(idle_worker, ledger):
    worker = idle_worker()
    result = retried_tasks.fail_until.enqueue(ledger.path, 3)
    wait_until(lambda: row(result).state == State.SUCCESSFUL, worker)


def test_a_worker_of_another_queue_sleeps_on(idle_worker):
    worker = idle_worker("--queue", "mail")
    other = tasks.add.enqueue(1)
    mail = tasks.configured.enqueue()
    wait_until(lambda: row(mail).state == State.SUCCESSFUL, worker)
    assert row(other).state == State.READY
