"""Case B7: behind PgBouncer in transaction mode nothing may outlive a transaction on a connection."""

import json
from contextlib import ExitStack
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from django_locqueue.models import State, Task, TaskAttempt
from tests import retried_tasks, tasks
from tests.processes import wait_until
from tests.processes.pgbouncer import POOLER, SERVER_CONNECTIONS, PgBouncer
from tests.running import row

SERVICES = 7  # one connection each; the listener has two while it pings

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def pooler(tmp_path, transactional_db):
    if connection.vendor != "postgresql":
        pytest.skip("PgBouncer is PostgreSQL's")
    if POOLER is None:
        pytest.skip("needs the program pgbouncer (Debian: apt-get install pgbouncer)")
    with PgBouncer(tmp_path) as pooler:
        wait_until(lambda: pooler.answers)
        yield pooler


@pytest.fixture
def pooled_worker(run_fast_worker, pooler):
    """Return a function that starts a worker all of whose connections go through the pooler."""

    def run(*options, wait=True, **settings):
        env = {"TEST_POSTGRES_URL": pooler.url, "TEST_LOCQUEUE_WORKER": json.dumps(settings)}
        return run_fast_worker(*options, env=env, wait=wait)

    return run


def finished(results):
    return all(row(result).is_finished for result in results)


def test_tasks_of_all_kinds_end_as_they_should(pooled_worker, ledger):
    worker = pooled_worker("--threads", "6")
    good = tasks.echo.enqueue_many([((number,), {}) for number in range(300)])
    bad = tasks.fail.enqueue()
    again = retried_tasks.fail_until.enqueue(ledger.path, 3)
    atomic = tasks.create_group_atomically.enqueue("pooled")
    delayed = tasks.add.using(run_after=timezone.now() + timedelta(seconds=0.5)).enqueue(1)
    wait_until(lambda: finished([*good, bad, again, atomic, delayed]), worker)
    for number, result in enumerate(good):
        result.refresh()
        assert result.return_value == number
    assert row(bad).state == State.FAILED
    assert (row(again).state, row(again).attempt) == (State.SUCCESSFUL, 3)
    assert (row(atomic).state, row(delayed).state) == (State.SUCCESSFUL, State.SUCCESSFUL)
    assert TaskAttempt.objects.filter(task_id=int(again.id)).count() == 2
    worker.signal()
    assert worker.wait() == 0
    assert "Traceback" not in worker.output.replace("ValueError", "")


def test_b7_twelve_slots_on_three_sessions_start_each_task_once(pooled_worker, ledger):
    count = 300
    tasks.note.enqueue_many([((ledger.path, str(number)), {}) for number in range(count)])
    worker = pooled_worker(
        "--processes", "3", "--threads", "4", wait=False, LEASE_SECONDS=60, HEARTBEAT_SECONDS=5, GRACE_SECONDS=30
    )
    wait_until(lambda: Task.objects.successful().count() == count, worker)
    assert sorted(ledger.lines, key=int) == [str(number) for number in range(count)]
    assert not Task.objects.exclude(attempt=1).exists()
    worker.signal()
    assert worker.wait(60) == 0
    for sign_of_a_session in ("prepared statement", "cursor", "Traceback"):
        assert sign_of_a_session not in worker.output
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert cursor.fetchone() == (0,)


def test_b7_a_worker_that_is_killed_leaves_its_task_to_another(pooled_worker, ledger):
    result = tasks.sleep_at_first.enqueue(ledger.path, 60)
    first = pooled_worker("--threads", "1", "--worker-id", "first")
    ledger.wait_for("start")
    second = pooled_worker("--threads", "1", "--worker-id", "second")
    first.kill()
    ledger.wait_for("start", times=2)
    wait_until(lambda: row(result).state == State.SUCCESSFUL, second)
    assert (row(result).worker_ids, row(result).crashes) == ("first\nsecond\n", 1)


def test_a_producer_behind_it_enqueues_in_transactions_and_without(start_process, pooler):
    code = (
        "from django.db import connection, transaction; from tests import tasks\n"
        "for number in range(20): tasks.add.enqueue(number)\n"
        "assert not connection.cursor().execute('SELECT FROM pg_prepared_statements').fetchall(), 'it has prepared'\n"
        "tasks.add.enqueue_many([((number,), {}) for number in range(1500)])\n"
        "with transaction.atomic(): tasks.add.enqueue(1); transaction.set_rollback(True)\n"
        "with transaction.atomic(): tasks.configured.enqueue()\n"
    )
    producer = start_process("shell", "-c", code, env={"TEST_POSTGRES_URL": pooler.url})
    assert producer.wait() == 0, producer.output
    assert "could not be told" not in producer.output
    assert Task.objects.ready().count() == 20 + 1500 + 1


def test_a_worker_behind_it_is_told_that_it_hears_nothing_and_polls(pooled_worker):
    worker = pooled_worker()
    worker.wait_for("New tasks are found by polling alone")
    result = tasks.add.enqueue(1)
    wait_until(lambda: finished([result]), worker)
    assert worker.output.count("LISTEN does not work here") == 1


def test_a_worker_that_hears_nothing_leaves_no_session_listening(pooled_worker, pooler):
    worker = pooled_worker()
    worker.wait_for("New tasks are found by polling alone")
    wait_until(lambda: not listening(pooler), worker)


def listening(pooler):
    """Return the channels on which any of the pooler's sessions listens: one transaction holds each of them."""
    with ExitStack() as stack:
        sessions = [stack.enter_context(pooler.connect()) for _ in range(SERVER_CONNECTIONS)]
        return [row for each in sessions for row in each.execute("SELECT pg_listening_channels()").fetchall()]


def test_all_of_a_workers_connections_go_through_it_and_their_number_is_bounded(pooled_worker, pooler):
    threads = 8
    worker = pooled_worker("--threads", str(threads))
    results = tasks.create_group.enqueue_many([((f"group {number}",), {}) for number in range(100)])
    wait_until(lambda: finished(results), worker)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND backend_type = 'client backend' "
            "AND pid <> pg_backend_pid()",
            [connection.settings_dict["NAME"]],
        )
        assert 1 <= cursor.fetchone()[0] <= SERVER_CONNECTIONS
    assert 1 <= len(pooler.show("CLIENTS")) <= threads + SERVICES + 1  # ourselves, who ask


def test_no_connection_is_left_in_a_transaction(pooled_worker, pooler):
    worker = pooled_worker("--threads", "4")
    results = [tasks.fail.enqueue() for _ in range(20)]
    wait_until(lambda: finished(results), worker)
    wait_until(lambda: all("active" not in server for server in pooler.show("SERVERS")), worker)
