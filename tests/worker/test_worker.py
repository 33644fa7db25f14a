"""A whole worker, in a thread of the test."""

import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, transaction
from django.utils import timezone

from django_locqueue import signals
from django_locqueue.models import State, Task, Worker
from django_locqueue.observability.logs import WorkerLog
from django_locqueue.worker.slots import SlotTable
from tests import retried_tasks, tasks
from tests.running import claim_next, in_thread, row
from tests.worker.conftest import a_worker
from tests.worker.fakes import claimed, ended

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fast(settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"POLL_SECONDS": (0.01, 0.05)}}
    tasks.gate.clear()
    tasks.entered.clear()
    yield
    tasks.gate.set()


def test_a_draining_worker_runs_what_is_ready_and_leaves():
    results = tasks.add.enqueue_many([((number,), {}) for number in range(30)])
    assert in_thread(a_worker(drain=True).run) == 0
    assert Task.objects.successful().count() == len(results)
    assert Worker.objects.get().stopped_at is not None


def test_a_draining_worker_runs_what_its_tasks_enqueue_by_retrying(tmp_path):
    result = retried_tasks.fail_until.enqueue(str(tmp_path / "ledger"), 3)
    assert in_thread(a_worker(drain=True).run) == 0
    assert row(result).state == State.SUCCESSFUL


def test_a_draining_worker_leaves_scheduled_tasks_alone():
    result = tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    assert in_thread(a_worker(drain=True).run) == 0
    assert row(result).state == State.SCHEDULED


def test_a_draining_worker_runs_what_is_overdue():
    result = tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    Task.objects.update(run_after=timezone.now() - timedelta(hours=1))
    assert in_thread(a_worker(drain=True).run) == 0
    assert row(result).state == State.SUCCESSFUL


def test_a_draining_worker_runs_what_a_dead_one_had(settings):
    settings.LOCQUEUE["WORKER"]["HEARTBEAT_SECONDS"] = 0.2
    result = tasks.add.enqueue(1)
    claim_next()
    Worker.objects.update(lease_until=timezone.now() - timedelta(hours=1))
    assert in_thread(a_worker(drain=True).run) == 0
    assert row(result).state == State.SUCCESSFUL


def test_a_draining_worker_survives_a_database_that_is_away(monkeypatch):
    worker = a_worker(drain=True)
    result = tasks.add.enqueue(1)
    failures = iter([OperationalError("away")] * 3)
    real = type(worker.store).next_due

    def next_due(store, **kwargs):
        for failure in failures:
            raise failure
        return real(store, **kwargs)

    monkeypatch.setattr(type(worker.store), "next_due", next_due)
    assert in_thread(worker.run) == 0
    assert row(result).state == State.SUCCESSFUL


def test_only_the_named_queues_are_served():
    mail, other = tasks.configured.enqueue(), tasks.add.enqueue(1)
    assert in_thread(a_worker(drain=True, queues=("mail",)).run) == 0
    assert (row(mail).state, row(other).state) == (State.SUCCESSFUL, State.READY)


def test_excluded_queues_are_not_served():
    mail, other = tasks.configured.enqueue(), tasks.add.enqueue(1)
    assert in_thread(a_worker(drain=True, exclude_queues=("mail",)).run) == 0
    assert (row(mail).state, row(other).state) == (State.READY, State.SUCCESSFUL)


def test_a_worker_lets_its_tasks_finish(serving):
    result = tasks.wait_for_gate.enqueue()
    worker = serving()
    assert tasks.entered.wait(10)
    worker.request_stop()
    tasks.gate.set()
    assert worker.code() == 0
    assert row(result).state == State.SUCCESSFUL


def test_a_task_that_is_cancelled_while_it_runs_stops_when_it_asks(serving, settings):
    settings.LOCQUEUE = {"WORKER": {"POLL_SECONDS": (0.01, 0.05), "LEASE_SECONDS": 1, "HEARTBEAT_SECONDS": 0.1}}
    stopped = threading.Event()

    def receiver(sender, **kwargs):
        stopped.set()

    signals.task_cancelled.connect(receiver)
    try:
        result = tasks.run_until_asked_to_stop.enqueue()
        serving()
        assert tasks.entered.wait(10)
        assert result.cancel()
        assert stopped.wait(10)
    finally:
        signals.task_cancelled.disconnect(receiver)
    assert row(result).state == State.CANCELLED


def test_an_outcome_that_is_refused_is_told_as_a_lost_lease(serving):
    lost = threading.Event()

    def receiver(sender, **kwargs):
        lost.set()

    signals.lease_lost.connect(receiver)
    try:
        result = tasks.wait_for_gate.enqueue()
        serving()
        assert tasks.entered.wait(10)
        Task.objects.update(claim_no=99)
        tasks.gate.set()
        assert lost.wait(10)
    finally:
        signals.lease_lost.disconnect(receiver)
    assert row(result).state == State.RUNNING


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("service", ["acker", "heartbeat", "dispatcher", "maintenance"])
def test_a_worker_whose_service_is_dead_leaves_with_1(service, caplog):
    worker = a_worker()

    def die(now=None):
        raise SystemExit(5)

    getattr(worker, service).run_once = die
    assert in_thread(worker.run) == 1
    assert f"because this stopped: {service}" in caplog.text


def test_f6_a_draining_command_works_outside_a_transaction_and_leaves_the_connection_alone():
    result = tasks.create_group.enqueue("by the worker")
    call_command("runqueue", drain=True, verbosity=0)
    assert row(result).state == State.SUCCESSFUL
    assert Group.objects.filter(name="by the worker").exists()
    assert not connection.in_atomic_block


def test_a_draining_command_works_in_a_thread():
    result = tasks.add.enqueue(1)
    in_thread(lambda: call_command("runqueue", drain=True, verbosity=0))
    assert row(result).state == State.SUCCESSFUL


def test_f6_the_command_says_that_it_cannot_run_inside_a_transaction():
    with transaction.atomic():
        tasks.add.enqueue(1)
        with pytest.raises(CommandError, match="inside a transaction"):
            call_command("runqueue", drain=True, verbosity=0)
        assert Task.objects.count() == 1


SENTENCES = [
    (ended(7), "done   add #7                    default    1.50s  waited 0s", "INFO"),
    (ended(7, "snoozed", delay=60.0), "snooze add #7                    default    1.50s  again in 60s", "INFO"),
    (ended(7, "released"), "release add #7                    default    1.50s  put back in the queue", "INFO"),
]


@pytest.mark.parametrize(("execution", "sentence", "level"), SENTENCES, ids=["done", "snooze", "release"])
def test_each_outcome_is_one_line(execution, sentence, level, caplog):
    caplog.set_level("INFO", "django_locqueue")
    WorkerLog().attempt_ended(claimed=execution.claimed, outcome=execution.outcome, seconds=1.5)
    [record] = caplog.records
    assert (record.getMessage(), record.levelname) == (sentence, level)


def test_data_cannot_forge_a_line_of_the_log(caplog):
    caplog.set_level("INFO", "django_locqueue")
    execution = ended(7)
    task = claimed(7, task_path="a.b\n12:00:00 ERROR forged", queue_name="\x1b[31mred")
    WorkerLog().attempt_ended(claimed=task, outcome=execution.outcome, seconds=1.5)
    [record] = caplog.records
    assert "\n" not in record.getMessage()
    assert "\x1b" not in record.getMessage()


@pytest.mark.django_db(transaction=True)
def test_a_child_whose_supervisor_is_gone_leaves():
    table = SlotTable.create()
    table.parent = -1  # nobody's, as of one that was killed while this process started
    worker = a_worker(table=table)
    assert worker.run() == 0
    assert table.worker_id == worker.heartbeat.row.pk


@pytest.mark.parametrize("option", ["--queue", "--exclude-queue"])
def test_an_empty_list_of_queues_is_refused(option):
    with pytest.raises(CommandError, match=f"{option} must name at least one queue, got ' , '"):
        call_command("runqueue", option, " , ")
