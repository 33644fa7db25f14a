"""Whatever is wrong with the log's database: the site answers, somebody is told, and the rows appear later.

The database is the real one, and so is the recorder with its thread.
"""

from contextlib import contextmanager

import pytest
from django.db import connection, transaction
from django.db.backends.signals import connection_created

from django_locqueue.accesslog import middleware, outbox
from django_locqueue.accesslog.models import AccessLog, VisitorKey
from django_locqueue.accesslog.privacy.visitor_keys import VisitorKeys
from django_locqueue.accesslog.recorder import Recorder
from django_locqueue.models import Task
from django_locqueue.testing import run_tasks
from tests.processes import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def own(site, settings, monkeypatch):
    """The recorder of the site, which has the real queue."""
    settings.TASKS = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": []}}
    site.LOCQUEUE = {"ACCESS_LOG": {"INTERVAL": 0.01, "EXIT_TIMEOUT": 20, "GEO": {"PROVIDERS": ["reserved"]}}}
    monkeypatch.setattr(outbox, "LONGEST_BACKOFF_SECONDS", 0.02)
    monkeypatch.setattr(outbox.logger, "_next", {})
    recorder = Recorder(keys=VisitorKeys())
    monkeypatch.setattr(middleware, "recorder", recorder)
    yield recorder
    recorder.stop()


def visit(client, *paths):
    for path in paths:
        assert client.get(path).status_code == 200


def logged():
    """Return the paths of the rows that a worker has written."""
    run_tasks(check=True)
    return sorted(AccessLog.objects.values_list("path", flat=True))


@contextmanager
def table_away(model):
    table = model._meta.db_table
    with connection.schema_editor() as editor:
        editor.alter_db_table(model, table, f"{table}_away")
    try:
        yield
    finally:
        with connection.schema_editor() as editor:
            editor.alter_db_table(model, f"{table}_away", table)


READ_ONLY = {
    "postgresql": "SET default_transaction_read_only = on",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "sqlite": "PRAGMA query_only = ON",
}


@contextmanager
def read_only():
    """Let new connections only read, as those to a standby."""

    def restrict(connection, **_):
        with connection.cursor() as cursor:
            cursor.execute(READ_ONLY[connection.vendor])

    connection_created.connect(restrict)
    try:
        yield
    finally:
        connection_created.disconnect(restrict)


@contextmanager
def locked():
    """Hold a lock that every INSERT of a task waits for."""
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute("LOCK TABLES locqueue_task WRITE")
            try:
                yield
            finally:
                cursor.execute("UNLOCK TABLES")
            return
        with transaction.atomic():
            if connection.vendor == "postgresql":
                cursor.execute("LOCK TABLE locqueue_task IN ACCESS EXCLUSIVE MODE")
            else:
                cursor.execute("DELETE FROM locqueue_task WHERE id < 0")  # SQLite's one lock is taken by any write
            yield


def test_i9_before_migrate_the_site_answers_and_the_rows_appear_later(client, own, caplog):
    with table_away(Task):
        visit(client, "/page/", "/page/?again")
        wait_until(lambda: own.counts.failures)
        visit(client, "/orders/7/")
    assert own.drain()
    assert logged() == ["/orders/7/", "/page/", "/page/"]
    assert "Logged requests could not be enqueued; they are kept and tried again." in caplog.text


def test_i9_while_the_database_can_only_be_read_the_site_answers_and_the_rows_appear_later(client, own):
    with read_only():
        visit(client, "/page/")
        wait_until(lambda: own.counts.failures)
        visit(client, "/orders/7/")
    wait_until(lambda: own.counts.sent == 2)
    assert logged() == ["/orders/7/", "/page/"]


def test_i9_while_an_insert_waits_the_site_answers(client, own):
    with locked():
        visit(client, "/page/")
        wait_until(lambda: own._outbox.batch)
        visit(client, "/orders/7/")
        assert own.counts.sent == 0
    wait_until(lambda: own.counts.sent == 2)
    assert logged() == ["/orders/7/", "/page/"]


def test_i8_a_log_that_fails_leaves_the_users_transaction_whole(client, own, site):
    """In direct mode, the only one in which they share a connection."""
    site.LOCQUEUE = {"ACCESS_LOG": {**site.LOCQUEUE["ACCESS_LOG"], "BACKEND": "sync"}}
    with table_away(Task), table_away(VisitorKey):
        with transaction.atomic():
            assert client.get("/saves/").status_code == 201
            assert connection.needs_rollback is False
            AccessLog.objects.exists()  # PostgreSQL would refuse it
        assert own.counts.failures
    wait_until(lambda: own.counts.sent == 1)
    assert logged() == ["/saves/"]


def test_the_rows_of_an_outage_are_stored_once(client, own):
    """The first try may have reached the queue: the answer was lost, not the batch."""
    enqueue, answers = own._send, []

    def send_and_lose_the_answer(batch):
        enqueue(batch)
        answers.append(len(batch))
        if len(answers) == 1:
            raise ConnectionResetError

    own._send = send_and_lose_the_answer
    visit(client, "/page/")
    wait_until(lambda: own.counts.sent == 1)
    assert len(answers) == 2
    assert logged() == ["/page/"]
