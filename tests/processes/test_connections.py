"""Connections to the database: few, the same number all the time, none left; and nothing needs one of its own."""

import os

import pytest
from django.db import connection

from django_locqueue.models import Task
from tests import tasks
from tests.processes import wait_until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="asks PostgreSQL for its sessions"),
]

THREADS = 4
SERVICES = 7  # acker, bookkeeper, dispatcher, heartbeat, listener, maintenance, and one to spare
MANY = 200


def sessions():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
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
    wait_until(lambda: sessions() <= before)  # less where a session of the test before was still ending
