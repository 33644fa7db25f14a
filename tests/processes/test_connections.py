"""Connections to the database: few, the same number all the time, none left; and nothing needs one of its own."""

import os
import pwd
import shutil
import socket
import subprocess

import pytest
from django.db import connection

from django_locqueue.models import State, Task
from tests import tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = [
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="asks PostgreSQL for its sessions"),
]

THREADS = 4
SERVICES = 6  # acker, announcer, dispatcher, heartbeat, maintenance, and one to spare
MANY = 200


def sessions():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return cursor.fetchone()[0]


@pytest.mark.parametrize("max_age", [0, 60])
def test_connections_are_no_more_than_threads_and_services_and_gone_after_the_end(run_fast_worker, max_age):
    """B6."""
    before = sessions()
    tasks.create_group.enqueue_many([((f"group {number}",), {}) for number in range(MANY)])
    url = os.environ["TEST_POSTGRES_URL"]
    url += f"{'&' if '?' in url else '?'}CONN_MAX_AGE={max_age}"
    worker = run_fast_worker("--threads", str(THREADS), env={"TEST_POSTGRES_URL": url})
    seen = []
    wait_until(lambda: seen.append(sessions()) or Task.objects.successful().count() == MANY, worker)
    assert max(seen) - before <= THREADS + SERVICES
    worker.signal()
    assert worker.wait() == 0
    wait_until(lambda: sessions() == before)


@pytest.fixture
def pooler_url(tmp_path):
    """PgBouncer in transaction mode, with fewer connections than there are threads."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    connection.ensure_connection()
    info = connection.connection.info
    password = f" password={info.password}" if info.password else ""
    settings = tmp_path / "pgbouncer.ini"
    settings.write_text(
        f"""
        [databases]
        {info.dbname} = host={info.host} port={info.port} user={info.user}{password}
        [pgbouncer]
        listen_addr = 127.0.0.1
        listen_port = {port}
        unix_socket_dir =
        auth_type = any
        pool_mode = transaction
        default_pool_size = 3
        """.replace("        ", "")
    )
    settings.chmod(0o644)
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None  # it refuses to run as root
    for folder in tmp_path.parents if account else ():
        if folder.name.startswith("pytest-"):
            folder.chmod(0o755)
    tmp_path.chmod(0o755)
    process = subprocess.Popen(
        [program, "-q", settings],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=account and account.pw_uid,
        group=account and account.pw_gid,
        extra_groups=[] if account else None,
    )

    def answers():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(lambda: process.poll() is not None or answers())
    assert process.poll() is None
    yield f"postgres://{info.user}@127.0.0.1:{port}/{info.dbname}"
    process.kill()
    process.wait()


def test_a_pooler_in_transaction_mode_changes_nothing(run_fast_worker, ledger, pooler_url):
    """B7: who is killed is replaced, each task is begun once but that, and no lock outlives its transaction."""
    behind = {"TEST_POSTGRES_URL": pooler_url}
    stuck = tasks.sleep_at_first.enqueue(ledger.path, 60)
    first = run_fast_worker("--threads", str(THREADS), env=behind)
    ledger.wait_for("start")
    second = run_fast_worker("--threads", str(THREADS), env=behind)
    tasks.create_group.enqueue_many([((f"group {number}",), {}) for number in range(MANY)])
    wait_until(lambda: Task.objects.successful().count() == MANY, second)
    first.kill()
    wait_until(lambda: row(stuck).state == State.SUCCESSFUL, second)
    assert ledger.lines == ["start", "start"]
    assert not Task.objects.exclude(pk=int(stuck.id)).exclude(attempt=1).exists()
    assert " ERROR " not in first.output + second.output
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        assert cursor.fetchone() == (0,)
