"""What ``runqueue`` says before it begins."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from django_locqueue.management import banner
from django_locqueue.models import Queue, Schedule, Worker
from django_locqueue.worker.options import WorkerOptions
from tests import tasks
from tests.running import our_backend


def options(*queues, exclude=()):
    return WorkerOptions(name="w:1", threads=4, grace_seconds=25, queues=queues, exclude_queues=exclude)


def start_line(given, processes=1):
    return banner.start_line(our_backend().store, given, processes)


@pytest.mark.django_db
def test_the_line_of_a_start_says_who_serves_what():
    assert start_line(options(), 2).startswith("started worker=w:1 queues=all slots=8 database=default version=")


@pytest.mark.django_db
def test_the_line_of_a_start_names_what_is_left_out():
    assert " queues=all exclude=mail,slow slots=" in start_line(options(exclude=("mail", "slow")))
    assert " queues=a,b slots=" in start_line(options("a", "b"))


@pytest.mark.django_db
def test_the_line_of_a_start_names_the_paused_queues_that_are_served():
    for name in ("default", "mail"):
        Queue.objects.create(name=name, paused_at=timezone.now())
    Queue.objects.create(name="open")
    assert " paused=default,mail " in start_line(options())
    assert " paused=mail " in start_line(options("mail", "open"))
    assert " paused=default " in start_line(options(exclude=("mail",)))
    assert "paused" not in start_line(options("open"))


@pytest.mark.django_db
def test_the_banner_counts_only_what_the_worker_serves():
    tasks.add.enqueue(1)
    tasks.configured.enqueue()
    waiting = [line for line in banner.lines(our_backend().store, options(exclude=("mail",))) if "waiting" in line]
    assert waiting == ["  waiting     1 ready, 0 scheduled"]


@pytest.mark.django_db
@pytest.mark.parametrize(("changes", "who"), [({}, "this worker adds"), ({"schedules": False}, "other workers add")])
def test_the_banner_counts_the_schedules(changes, who):
    Schedule.objects.create(name="a", task_path="tests.tasks.add", every=10)
    Schedule.objects.create(name="b", task_path="tests.tasks.add", every=10, enabled=False)
    found = [line for line in banner.lines(our_backend().store, replace(options(), **changes)) if "schedules" in line]
    assert found == [f"  schedules   2 (1 on), {who} their tasks"]


@pytest.mark.parametrize(
    ("named", "excluded"), [((), ()), ((), ("mail",)), (("mail",), ()), (("mail", "other"), ("mail",))]
)
def test_a_worker_that_serves_something_has_no_problem(named, excluded):
    assert banner.problem(options(*named, exclude=excluded)) is None


def test_a_worker_whose_queues_are_all_left_out_is_told():
    assert "(mail)" in str(banner.problem(options("mail", exclude=("mail", "other"))))


@pytest.mark.django_db
@pytest.mark.parametrize("reloads", [True, False])
def test_that_the_worker_restarts_is_said_only_if_it_does(settings, reloads):
    settings.DEBUG = True
    [warning] = banner.warnings(our_backend().store, options(), reloads=reloads)
    assert warning.startswith("DEBUG is on")
    assert ("restarts" in warning) is reloads


@pytest.mark.django_db
def test_missing_migrations_are_told_with_the_command(monkeypatch):
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda self, targets: targets)
    [warning] = banner.warnings(our_backend().store, options())
    assert warning.endswith(": python manage.py migrate")


def test_the_command_that_migrates_names_a_database_that_is_not_the_default():
    assert banner.migrate_command("default") == "python manage.py migrate"
    assert banner.migrate_command("queue") == "python manage.py migrate --database queue"


def test_a_database_that_cannot_be_used_is_told_without_its_statement():
    error = OperationalError('relation "locqueue_worker" does not exist\nLINE 1: INSERT INTO "locqueue_worker" (…)\n ^')
    first, second = banner.unavailable("queue", error)
    assert first == 'The database “queue” cannot be used: relation "locqueue_worker" does not exist'
    assert "migrate --database queue" in second


@pytest.mark.parametrize(
    ("pool", "warned"),
    [(None, False), (True, True), ({"min_size": 2}, True), ({"max_size": 6}, True), ({"max_size": 7}, False)],
)
@pytest.mark.django_db
def test_a_pool_that_is_too_small_for_the_threads_is_told_with_the_size_that_is_not(monkeypatch, pool, warned):
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {**connection.settings_dict["OPTIONS"], "pool": pool})
    told = [each for each in banner.warnings(our_backend().store, options()) if "connection pool" in each]
    assert len(told) == warned
    assert all("this worker needs 7" in each for each in told)


@pytest.mark.django_db
def test_a_queue_that_nobody_uses_is_told_with_the_one_that_was_meant():
    Queue.objects.create(name="mail")
    assert list(banner.warnings(our_backend().store, options("mail"))) == []
    assert list(banner.warnings(our_backend().store, options("mial"))) == [
        "Queue “mial” has no tasks yet. Did you mean “mail”?"
    ]


@pytest.mark.django_db
def test_a_worker_whose_name_another_has_is_told():
    for _ in range(2):  # this one's row, and the other's
        assert list(banner.warnings(our_backend().store, options())) == []
        Worker.objects.create(name="w:1", lease_until=timezone.now() + timedelta(minutes=1))
    [warning] = banner.warnings(our_backend().store, options())
    assert warning == "Another worker is called w:1 too: give one of them another --worker-id."


@pytest.mark.django_db
def test_clocks_that_differ_are_told(monkeypatch):
    monkeypatch.setattr(banner.timezone, "now", lambda: datetime(2020, 1, 1, tzinfo=UTC))
    [warning] = banner.warnings(our_backend().store, options())
    assert warning.startswith("The clocks of the database and of this machine differ by ")


@pytest.mark.django_db
@pytest.mark.parametrize("processes", [1, 2])
def test_several_processes_on_sqlite_are_told(processes):
    told = [each for each in banner.warnings(our_backend().store, options(), processes=processes) if "SQLite" in each]
    assert len(told) == (connection.vendor == "sqlite" and processes > 1)


def test_the_list_of_tasks_names_each_with_its_queue_and_priority():
    assert "  tests.tasks.add  queue default, priority 0" in list(banner.tasks())
