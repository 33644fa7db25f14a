"""B6. How many sessions of the database a worker holds: a session for each thread and a few of its own, however long it
runs and however connections are kept, and none when it is gone."""

import json
from contextlib import suppress

import pytest
from django.db import OperationalError, connection

from django_locqueue.management import banner
from django_locqueue.models import Task
from tests import tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

THREADS = 3
OF_ITS_OWN = 7  # six services and the command itself

SESSIONS = {
    "postgresql": "SELECT pid FROM pg_stat_activity "
    "WHERE datname = CURRENT_DATABASE() AND backend_type = 'client backend' AND pid <> PG_BACKEND_PID()",
    "mysql": "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
}
END = {"postgresql": "SELECT pg_terminate_backend(%s)", "mysql": "KILL %s"}
KEPT = {
    "not kept": {"CONN_MAX_AGE": 0},
    "kept for ever": {"CONN_MAX_AGE": None},
    "kept for a minute": {"CONN_MAX_AGE": 60},
    "checked": {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True},
    "pooled": {"OPTIONS": {"pool": {"min_size": 0, "max_size": THREADS + banner.OF_ITS_OWN, "timeout": 3}}},
}


def others() -> set[int]:
    """Return the sessions of this database but our own."""
    with connection.cursor() as cursor:
        cursor.execute(SESSIONS[connection.vendor])
        return {session for (session,) in cursor.fetchall()}


def sessions() -> int:
    return len(others())


@pytest.fixture(params=KEPT)
def kept(request):
    """Return the environment of a worker that keeps its connections in this way."""
    if connection.vendor not in SESSIONS:
        pytest.skip("SQLite has no sessions to count")
    if "pooled" in request.param:
        if connection.vendor != "postgresql":
            pytest.skip("a pool is psycopg's")
        pytest.importorskip("psycopg_pool")
    return {
        "DJANGO_SETTINGS_MODULE": "tests.settings_connections",
        "TEST_CONNECTIONS": json.dumps(KEPT[request.param]),
    }


def run_a_wave(worker, before):
    """Let the worker do tasks that use the database on each of its threads; return the most sessions it held."""
    most = [0]
    tasks.create_group.enqueue_many([((f"{Task.objects.count()}-{number}",), {}) for number in range(60)])

    def ended():
        most[0] = max(most[0], sessions() - before)
        return not Task.objects.exclude(state="successful").exists()

    wait_until(ended, worker)
    return most[0]


def test_b6_a_worker_holds_a_session_for_each_thread_and_a_few_of_its_own(run_worker, kept):
    before = sessions()
    worker = run_worker("--threads", str(THREADS), env=kept)
    held = [run_a_wave(worker, before) for _ in range(3)]
    assert max(held) <= THREADS + OF_ITS_OWN, held
    worker.signal()
    assert worker.wait() == 0
    wait_until(lambda: sessions() <= before)


@pytest.mark.parametrize("kept", ["kept for ever", "pooled"], indirect=True)
def test_b6_a_worker_that_has_drained_its_queue_leaves_no_session(run_worker, kept):
    before = sessions()
    tasks.create_group.enqueue_many([((str(number),), {}) for number in range(20)])
    worker = run_worker("--drain", "--threads", str(THREADS), env=kept, wait=False)
    assert worker.wait() == 0
    assert not Task.objects.exclude(state="successful").exists()
    wait_until(lambda: sessions() <= before)


def test_e6_no_transaction_is_left_open_while_a_task_runs_and_while_nothing_does(run_worker, ledger):
    """E6. The server ends each session that is idle in a transaction for half a second, and the worker notices none."""
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL ends such sessions")
    strict = {"OPTIONS": {"options": "-c idle_in_transaction_session_timeout=500"}}
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings_connections", "TEST_CONNECTIONS": json.dumps(strict)}
    worker = run_worker(env=environment)
    result = tasks.note_and_sleep.enqueue(ledger.path, 1.5)
    wait_until(lambda: Task.objects.get(pk=result.id).state == "successful", worker)
    again = tasks.note_and_sleep.enqueue(ledger.path, 0.7)  # after some idle polls
    wait_until(lambda: Task.objects.get(pk=again.id).state == "successful", worker)
    worker.signal()
    assert worker.wait() == 0
    assert "goes on trying" not in worker.output, worker.output
    assert len(ledger.lines) >= 2


@pytest.mark.skipif(connection.vendor not in SESSIONS, reason="SQLite has no sessions to end")
def test_b4_outcomes_outlive_the_sessions_that_the_server_has_ended(run_fast_worker, ledger):
    before = others()
    results = [tasks.wait_for_go.enqueue(ledger.path) for _ in range(3)]
    worker = run_fast_worker("--threads", "3")
    ledger.wait_for("start", times=3)
    with connection.cursor() as cursor:
        for session in others() - before:
            with suppress(OperationalError):  # it has just ended by itself
                cursor.execute(END[connection.vendor], [session])
    ledger.say("go")
    wait_until(lambda: all(row(result).state == "successful" for result in results), worker)
    canary = tasks.add.enqueue(1)
    wait_until(lambda: row(canary).state == "successful", worker)
    assert ledger.lines.count("start") == 3
    assert "Traceback" not in worker.output


@pytest.mark.skipif(connection.vendor != "mysql", reason="above, the server of PostgreSQL ends them itself")
def test_e6_no_transaction_is_as_old_as_the_task_that_runs(run_worker, ledger):
    worker = run_worker()
    result = tasks.note_and_sleep.enqueue(ledger.path, 3)
    wait_until(lambda: ledger.lines, worker)
    old = (
        "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_started < NOW() - INTERVAL 1 SECOND "
        "AND trx_mysql_thread_id IN (SELECT id FROM information_schema.processlist WHERE db = DATABASE())"
    )
    found = []

    def has_ended():
        with connection.cursor() as cursor:
            cursor.execute(old)
            found.append(cursor.fetchone()[0])
        return Task.objects.get(pk=result.id).state == "successful"

    wait_until(has_ended, worker)
    assert len(found) > 10
    assert not any(found)
