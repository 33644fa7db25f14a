"""``queue_doctor``: what makes a queue slow or stuck is found, and a cure is named."""

import json
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, connections

from django_locqueue.management.doctor import mysql, postgresql
from django_locqueue.models import Queue, Worker
from tests.store.rows import put


def problems(typed):
    """Return the exit code, and what is wrong by what was looked at."""
    code, out, _ = typed("queue_doctor", "--json")
    return code, {each["name"]: each["problem"] for each in json.loads(out)["findings"] if each["problem"]}


@pytest.fixture(autouse=True, scope="module")
def tidy_database(django_db_setup, django_db_blocker):
    """What tests before have left, SQLite's long log and PostgreSQL's dead rows, the doctor would rightly find."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        elif connection.vendor == "postgresql":
            if connection.pg_version >= 150_000:
                cursor.execute("SELECT pg_stat_force_next_flush()")  # else this session's are counted after the VACUUM
            cursor.execute("VACUUM")


class Answers:
    """A store that answers a statement with rows that a test cannot make."""

    def __init__(self, answers):
        self.answers = answers

    def fetch(self, sql, params):
        return self.answers.get(sql, [])


@pytest.fixture
def can_undo_ddl(db):
    if not connection.features.can_rollback_ddl:
        pytest.skip("MySQL commits before it changes a table")


@pytest.mark.django_db
def test_a_healthy_queue(typed):
    code, out, err = typed("queue_doctor")
    assert (code, err) == (0, "")
    first, *lines, last = out.splitlines()
    assert first == f"Database default ({connection.display_name})"
    assert all(line.startswith("  ok       ") for line in lines)
    assert last == "Nothing is wrong."
    assert {"migrations", "columns", "indexes", "bloat", "clock"} <= {line.split()[1] for line in lines}


def test_an_index_that_is_gone(can_undo_ddl, typed):
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX locqueue_task_ready")
    assert problems(typed) == (1, {"indexes": "missing: locqueue_task_ready"})
    code, out, _ = typed("queue_doctor")
    assert code == 1
    assert "PROBLEM  indexes" in out
    assert "-> Make them anew" in out
    assert out.endswith("1 problem.\n")


def test_a_column_that_is_gone_does_not_end_the_look(can_undo_ddl, typed):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE locqueue_worker RENAME COLUMN memory_mb TO memory")
    assert problems(typed) == (1, {"columns": "missing: locqueue_worker.memory_mb"})


@pytest.mark.django_db
def test_a_migration_that_was_not_applied(typed, monkeypatch):
    monkeypatch.setattr("django_locqueue.management.doctor.schema.missing_migrations", lambda alias: ["0009_more"])
    assert problems(typed) == (1, {"migrations": "not applied: 0009_more"})


@pytest.mark.django_db(transaction=True)
def test_an_old_transaction_is_found(typed, monkeypatch):
    if connection.vendor == "sqlite":
        pytest.skip("SQLite lists no transactions")
    monkeypatch.setattr(postgresql, "TRANSACTION_SECONDS", 0)
    monkeypatch.setattr(mysql, "TRANSACTION_SECONDS", 0)
    other = connections["default"].copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute("SELECT * FROM locqueue_task FOR UPDATE")
        _, found = problems(typed)
        assert "open for" in found["oldest transaction"]
    finally:
        other.close()


def test_dead_rows_beside_few_living_ones_are_bloat():
    rows = [
        ("locqueue_task", 5_000, 90_000, 50 * 2**20, 7200.0),
        ("locqueue_taskattempt", 1_000_000, 90_000, 2**20, None),
    ]
    task, attempts = postgresql._bloat(Answers({postgresql._TABLES: rows}))
    assert task.problem == "locqueue_task: 50 MB, 90,000 dead rows beside 5,000, cleaned up 2 h ago (95 % dead)"
    assert task.cure.endswith("VACUUM (ANALYZE) locqueue_task")
    assert attempts.is_well


def test_what_an_unused_replication_slot_keeps_is_told():
    answers = Answers({postgresql._SLOTS: [("old_replica", 123456)], postgresql._OPTIONS: [(None,)]})
    found = {each.name: each.problem for each in postgresql.look(answers)}
    assert found["replication slots"] == "not in use, and keep dead rows: old_replica (behind by 123,456 transactions)"
    assert found["autovacuum"].startswith("the task table has lost its settings")


def test_a_long_history_list_is_told():
    [*_, versions] = mysql.look(Answers({mysql._HISTORY: [(2_000_000,)]}))
    assert versions.problem == "2,000,000 wait to be purged"


@pytest.mark.django_db
def test_a_database_that_does_not_answer_is_told(typed, monkeypatch):
    def fail(alias):
        raise OperationalError("connection refused")

    monkeypatch.setattr("django_locqueue.management.doctor.schema.missing_migrations", fail)
    assert typed("queue_doctor") == (3, "", "The queue's database cannot be read: connection refused")


class TestWorkers:
    pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]

    def live(self, now, name, **columns):
        return Worker.objects.create(name=name, lease_until=now + timedelta(hours=1), **columns)

    def test_several_versions_of_the_code(self, now, typed):
        self.live(now, "a", version="1.0", code_version="a1b2c3d")
        self.live(now, "b", version="1.0", code_version="f00ba12")
        assert problems(typed) == (1, {"versions of your code": "workers run 2: a1b2c3d, f00ba12"})

    def test_queues_in_which_tasks_wait_that_nobody_takes(self, now, typed):
        put("ready", queue_name="mail")
        assert problems(typed) == (1, {"queues": "mail has 1 task, and no worker serves it"})
        Queue.objects.create(name="mail", paused_at=now)
        assert problems(typed) == (1, {"queues": "mail has 1 task, and it is paused"})

    def test_tasks_that_a_dead_worker_holds(self, now, typed):
        dead = Worker.objects.create(name="web-3:77", lease_until=now - timedelta(minutes=4))
        put("running", worker_id=dead.pk, last_attempted_at=now)
        code, found = problems(typed)
        assert (code, found) == (1, {"lost workers": "1 task of lost workers to be put back: web-3:77"})

    def test_scheduled_tasks_that_nobody_makes_ready(self, now, typed):
        put("scheduled", run_after=now - timedelta(minutes=5))
        assert problems(typed) == (1, {"due tasks": "the first of 1 task is late by 5 min"})

    def test_a_clock_that_is_wrong(self, now, typed, monkeypatch):
        monkeypatch.setattr("django_locqueue.observability.snapshot.clock.seconds_ahead", lambda: 41.0)
        assert problems(typed) == (1, {"clock": "the database's differs from this machine's by 41 s"})
