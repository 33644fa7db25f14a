"""No task is started twice, however many workers there are."""

import contextlib
import sqlite3

import pytest
from django.db import connection

from django_locqueue.models import Task
from tests import databases, tasks

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

TASKS = 300


# On a busy machine a lease of one second may pass, and a task would rightly be started again.
LONG_LEASE = {"TEST_LOCQUEUE_WORKER": '{"LEASE_SECONDS": 60, "HEARTBEAT_SECONDS": 5}'}


def drain_with(run_worker, workers, *options, env=LONG_LEASE):
    processes = [run_worker("--drain", *options, env=env) for _ in range(workers)]
    assert [process.wait(90) for process in processes] == [0] * workers


def assert_each_was_started_once(ledger, ended):
    """``ended``: the state and the attempts of each row."""
    assert sorted(ledger.lines, key=int) == [str(number) for number in range(TASKS)]
    assert list(ended) == [("successful", 1)] * TASKS


def test_a1_two_workers_start_each_task_once(run_fast_worker, ledger):
    tasks.note.enqueue_many([((ledger.path, str(number)), {}) for number in range(TASKS)])
    drain_with(run_fast_worker, 2, "--threads", "4")
    assert_each_was_started_once(ledger, Task.objects.values_list("state", "attempt"))


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the journal is SQLite's")
@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a5_sqlite_without_special_options_starts_each_task_once(run_fast_worker, ledger, journal, tmp_path):
    tasks.note.enqueue_many([((ledger.path, str(number)), {}) for number in range(TASKS)])
    # In a file of its own: the journal, which a file keeps, cannot be changed while any thread has it open.
    path = str(tmp_path / "own.sqlite3")
    with (
        contextlib.closing(sqlite3.connect(connection.settings_dict["NAME"])) as ours,
        contextlib.closing(sqlite3.connect(path)) as own,
    ):
        ours.backup(own)
        assert own.execute(f"PRAGMA journal_mode={journal}").fetchone() == (journal.lower(),)
    env = {**LONG_LEASE, databases.LIVE_NAME: path, "TEST_SQLITE_DEFAULTS": "yes"}
    drain_with(run_fast_worker, 3, "--threads", "2", env=env)
    with contextlib.closing(sqlite3.connect(path)) as own:
        assert_each_was_started_once(ledger, own.execute(f"SELECT state, attempt FROM {Task._meta.db_table}"))
