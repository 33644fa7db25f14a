"""The database goes away and comes back: nothing is lost, nobody restarts anything, and no end is held up."""

import signal
import time

import pytest
from django.db import connection

from django_locqueue.models import State, Task, Worker
from tests import tasks
from tests.faults.proxy import Proxy
from tests.processes import wait_until
from tests.running import row

pytestmark = [
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="the way to it is PostgreSQL's"),
]


@pytest.fixture
def proxy(db):
    connection.ensure_connection()
    info = connection.connection.info
    socket = f"{info.host}/.s.PGSQL.{info.port}" if info.host.startswith("/") else (info.host, info.port)
    proxy = Proxy(socket)
    yield proxy
    proxy.close()


@pytest.fixture
def run_behind(run_fast_worker, proxy):
    user = connection.settings_dict["USER"]
    password = connection.settings_dict["PASSWORD"]
    url = f"postgres://{user}:{password}@127.0.0.1:{proxy.port}/{connection.settings_dict['NAME']}"

    def run(*options, **kwargs):
        return run_fast_worker(*options, env={"TEST_POSTGRES_URL": url}, **kwargs)

    return run


def assert_leaves_soon(worker):
    began = time.monotonic()
    worker.signal(signal.SIGTERM)
    assert worker.wait(20) == 0
    assert time.monotonic() - began < 10  # it was 20, and as long as the network wanted


def test_b2_an_idle_worker_leaves_a_database_that_says_nothing(run_behind, proxy):
    """B2."""
    worker = run_behind()
    worker.wait_for("started")
    proxy.black_hole()
    assert_leaves_soon(worker)
    assert "Traceback" not in worker.output


def test_a_worker_that_hangs_in_its_first_connection_leaves_at_the_first_signal(run_behind, proxy):
    proxy.black_hole()
    worker = run_behind("--worker-id", "hanging", wait=False)
    wait_until(lambda: proxy.waiting, worker)
    assert_leaves_soon(worker)
    assert not Worker.objects.exists()


def test_b4_outcomes_are_kept_while_the_database_is_away(run_behind, proxy, ledger):
    """B4."""
    results = [tasks.wait_for_go.enqueue(ledger.path) for _ in range(3)]
    worker = run_behind("--threads", "3")
    ledger.wait_for("start", times=3)
    away, proxy.target = proxy.target, "/nowhere"
    proxy.cut()
    ledger.say("go")
    ledger.wait_for("end", times=3)
    worker.wait_for("The acker failed and goes on trying")
    proxy.target = away
    wait_until(lambda: all(row(result).state == State.SUCCESSFUL for result in results), worker)
    canary = tasks.add.enqueue(1)
    wait_until(lambda: row(canary).state == State.SUCCESSFUL, worker)
    assert "Traceback" not in worker.output
    assert not Task.objects.running().exists()


def test_a_task_is_asked_to_stop_when_the_heartbeat_of_its_worker_hangs(run_behind, proxy, ledger):
    tasks.note_the_stop.enqueue(ledger.path)
    run_behind()
    ledger.wait_for("start")
    proxy.black_hole()
    ledger.wait_for("it was taken from this worker")


def test_a_worker_whose_connections_were_forgotten_goes_on_by_itself(run_behind, proxy):
    """Nobody tells it: without help, TCP would go on trying for a quarter of an hour."""
    worker = run_behind("--threads", "1")
    before = tasks.add.enqueue(1)
    wait_until(lambda: row(before).state == State.SUCCESSFUL, worker)
    proxy.forget()
    canary = tasks.add.enqueue(1)
    wait_until(lambda: row(canary).state == State.SUCCESSFUL, worker)
    assert "Traceback" not in worker.output
