"""Statements that their session keeps prepared. PostgreSQL only."""

import pytest
from django.db import connection, transaction

from django_locqueue.models import Task
from django_locqueue.store.prepared import SOON
from tests import tasks

pytestmark = pytest.mark.django_db(transaction=True)

ENOUGH = 2 * SOON + 2


@pytest.fixture(autouse=True)
def new_session():
    if connection.vendor != "postgresql":
        pytest.skip("psycopg prepares statements; other drivers do not")
    connection.close()
    connection.ensure_connection()


def enqueue_enough():
    for number in range(ENOUGH):
        tasks.add.enqueue(number)


def prepared():
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [statement.split(" (")[0] for (statement,) in cursor.fetchall()]


def test_one_call_after_another_is_planned_once():
    enqueue_enough()
    assert prepared() == ["INSERT INTO locqueue_task"]


def test_a_session_that_has_lost_its_statement_stores_the_call_all_the_same():
    enqueue_enough()
    connection.connection.pgconn.exec_(b"DEALLOCATE ALL")  # unseen by the driver
    enqueue_enough()
    assert Task.objects.count() == 2 * ENOUGH
    assert prepared() == []  # nor is it tried again


def test_nothing_is_prepared_within_a_transaction():
    with transaction.atomic():
        enqueue_enough()
    assert prepared() == []


def test_the_project_s_own_statements_are_not_prepared():
    enqueue_enough()
    for _ in range(ENOUGH):
        Task.objects.exists()
    assert len(prepared()) == 1
