"""What a list's statements may take."""

import pytest
from django.db import connection

from django_locqueue.statement_limit import TooSlow, statement_limit

SLOW = {"postgresql": "SELECT pg_sleep(10)", "mysql": "SELECT 1 FROM information_schema.schemata WHERE SLEEP(10)"}

pytestmark = pytest.mark.django_db


@pytest.fixture
def slow() -> str:
    if connection.vendor == "sqlite":
        pytest.skip("has no such limit")
    return SLOW[connection.vendor]


def run(sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        cursor.fetchall()


def test_a_statement_that_takes_longer_is_ended(slow: str) -> None:
    with pytest.raises(TooSlow), statement_limit("default", 0.05):
        run(slow)
    run("SELECT 1")


def test_the_limit_ends_with_the_block() -> None:
    with statement_limit("default", 3):
        run("SELECT 1")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            assert cursor.fetchone() == ("0",)


def test_other_errors_are_what_they_are() -> None:
    with pytest.raises(Exception, match="nothing_here"), statement_limit("default", 3):
        run("SELECT * FROM nothing_here")
