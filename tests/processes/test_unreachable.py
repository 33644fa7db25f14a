"""A database that cannot be reached when a worker starts."""

import pytest
from django.db import connection

from tests.processes.conftest import FAST

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

AWAY = {
    "sqlite": {"TEST_DATABASE_NAME": "/nowhere/at/all.sqlite3"},
    "postgresql": {"TEST_POSTGRES_URL": "postgres://nobody:x@127.0.0.1:1/nothing"},
    "mysql": {"TEST_MYSQL_URL": "mysql://nobody:x@127.0.0.1:1/nothing"},
}


@pytest.mark.parametrize("verbosity", ["0", pytest.param("1", marks=pytest.mark.any_vendor)])
def test_a_database_that_cannot_be_reached_is_told_with_exit_code_69(run_fast_worker, verbosity):
    worker = run_fast_worker("-v", verbosity, env=AWAY[connection.vendor], wait=False)
    assert worker.wait() == 69
    assert "The database “default” cannot be used" in worker.output
    assert "Is it running, and has `python manage.py migrate` been run?" in worker.output
    assert "Traceback" not in worker.output


@pytest.mark.any_vendor
def test_a_database_that_does_not_come_is_told_when_the_time_is_over(start_process):
    worker = start_process("runqueue", "--wait-for-db", "1", env={**FAST, **AWAY[connection.vendor]})
    assert worker.wait() == 69
    assert "The database “default” cannot be used" in worker.output
    assert "Traceback" not in worker.output
