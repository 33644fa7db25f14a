"""No task is started twice, however many workers there are."""

import contextlib
import sqlite3

import pytest
from django.db import connection, connections

from django_locqueue.models import Task
from tests import tasks

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

TASKS = 300


# On a busy machine a lease of one second may pass, and a task would rightly be started again.
LONG_LEASE = {"TEST_LOCQUEUE_WORKER": '{"LEASE_SECONDS": 60, "HEARTBEAT_SECONDS": 5}'}


def drain_with(run_worker, workers, *options, env=LONG_LEASE):
    processes = [run_worker("--drain", *options, env=env) for _ in range(workers)]
    assert [process.wait(90) for process in processes] == [0] * workers


def assert_each_was_started_once(ledger):
    assert sorted(ledger.lines, key=int) == [str(number) for number in range(TASKS)]
    assert Task.objects.successful().count() == TASKS
    assert not Task.objects.exclude(attempt=1).exists()


def test_a1_two_workers_start_each_task_once(run_fast_worker, ledger):
    tasks.note.enqueue_many([((ledger.path, str(number)), {}) for number in range(TASKS)])
    drain_with(run_fast_worker, 2, "--threads", "4")
    assert_each_was_started_once(ledger)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the journal is SQLite's")
@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a5_sqlite_without_special_options_starts_each_task_once(run_fast_worker, ledger, journal):
    tasks.note.enqueue_many([((ledger.path, str(number)), {}) for number in range(TASKS)])
    connections.close_all()  # the journal mode, which the file keeps, changes only while nobody else has it open
    with contextlib.closing(sqlite3.connect(connection.settings_dict["NAME"])) as own:
        assert own.execute(f"PRAGMA journal_mode={journal}").fetchone() == (journal.lower(),)
    try:
        drain_with(run_fast_worker, 3, "--threads", "2", env={**LONG_LEASE, "TEST_SQLITE_DEFAULTS": "yes"})
    finally:
        connection.ensure_connection()
    assert_each_was_started_once(ledger)
