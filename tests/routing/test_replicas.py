"""E3, E6: with a replica, or with the queue on another alias, every read and write of the queue's tables goes to the
alias that the queue is written on, and so does every transaction around them."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import connections, transaction
from django.test import Client
from django.utils import timezone

from django_locqueue import endings
from django_locqueue.accesslog.models import AccessLog, Location
from django_locqueue.accesslog.tasks import record_hits
from django_locqueue.management import banner
from django_locqueue.models import Queue, State, Task, TaskAttempt, Worker
from django_locqueue.worker.heartbeat import Heartbeat
from django_locqueue.worker.maintenance import Maintenance
from django_locqueue.worker.options import WorkerOptions
from django_locqueue.worker.pool import Pool
from django_locqueue.worker.threads import ThreadRange
from tests import retried_tasks, tasks
from tests.accesslog.conftest import a_hit
from tests.admin.conftest import LISTS, list_url, task_url
from tests.running import make_ready, our_backend, row, run_next, run_one

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "second"])


def test_e3_a_task_is_stored_read_cancelled_and_put_back_there(project, traffic):
    result = tasks.add.enqueue(1)
    tasks.add.enqueue_many([((number,), {}) for number in range(3)])
    assert our_backend().get_result(result.id).cancel("not wanted")
    result.refresh()
    assert result.errors[0].traceback == "not wanted"
    assert result.requeue()
    assert Task.objects.ready().count() == 4
    assert traffic.goes_only_to(project)


def test_a_task_runs_fails_and_is_tried_again_there(project, traffic, tmp_path):
    result = retried_tasks.fail_until.enqueue(str(tmp_path / "ledger"), 2)
    run_one(result)
    assert TaskAttempt.objects.get().task_id == int(result.id)
    if row(result).state == State.SCHEDULED:
        make_ready(result)
    run_one(result)
    assert (result.is_finished, result.attempts, len(result.errors)) == (True, 2, 1)
    assert traffic.goes_only_to(project)


def test_a_task_may_write_on_default_while_its_queue_is_elsewhere(project, traffic):
    result = run_one(tasks.create_group.enqueue("written"))
    assert Group.objects.get(name="written").pk == result.return_value
    assert traffic.goes_only_to(project)


def test_e6_a_task_runs_in_no_transaction_of_the_queue(project, traffic):
    assert run_one(tasks.open_transactions.enqueue()).return_value == []
    assert traffic.goes_only_to(project)


def test_the_transaction_of_an_atomic_task_is_on_the_queue_s_alias(project, traffic):
    assert run_one(tasks.open_transactions_atomically.enqueue()).return_value == [project]
    assert traffic.goes_only_to(project)


def test_promotion_rescue_and_pruning_work_there(project, traffic):
    store = our_backend().store
    past = timezone.now() - timedelta(days=100)
    dead = store.register_worker("dead:1", lease=1, now=past)
    made = {"task_path": "tests.tasks.add", "args_kwargs": {"args": [1], "kwargs": {}}}
    due = Task.objects.create(state="scheduled", run_after=past, **made)
    lost = Task.objects.create(state="running", worker=dead, attempt=1, claim_no=1, worker_ids="dead:1\n", **made)
    old = Task.objects.create(state="failed", attempt=1, finished_at=past, worker_ids="dead:1\n", **made)
    TaskAttempt.objects.create(task_id=old.pk, number=1, outcome="failed", worker_name="w", finished_at=past)
    maintenance = Maintenance(store, max_crashes=3, retention=our_backend().retention, on_ready=lambda: None)
    maintenance._next_prune = 0.0
    while maintenance.run_once() == 0:
        pass
    assert dict(Task.objects.values_list("pk", "state")) == {due.pk: "ready", lost.pk: "ready"}
    assert store.next_due() is None
    assert endings.rescue(store, max_crashes=3) == []
    assert traffic.goes_only_to(project)


def test_the_heartbeat_beats_there(project, traffic):
    store = our_backend().store
    heartbeat = Heartbeat(
        store, Pool(ThreadRange(1, 1), None, on_end=None), lambda: store.register_worker("w:1", lease=30)
    )
    heartbeat.run_once()
    heartbeat.run_once()
    store.asked_to_stop([(1, 1)])
    assert Worker.objects.get().heartbeat_at is not None
    assert traffic.goes_only_to(project)


def test_the_banner_and_the_checks_ask_there(project, traffic):
    Queue.objects.create(name="mail", paused_at=timezone.now())
    tasks.add.enqueue(1)
    store, options = our_backend().store, WorkerOptions(name="w:1", threads=4, grace_seconds=25, queues=("other",))
    assert [line for line in banner.lines(store, options) if "other" in line]
    assert f"database={project}" in banner.start_line(store, options, 1)
    call_command("check", databases=["default", project])
    assert traffic.goes_only_to(project)


@pytest.fixture
def root():
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    return client


def test_e3_the_admin_pages_read_there(project, traffic, root):
    result = run_one(tasks.fail.enqueue())
    worker = Worker.objects.get()
    Task.objects.create(task_path="x.y", args_kwargs={}, state="running", worker=worker, attempt=1, worker_ids="w\n")
    pages = [*map(list_url, (*LISTS, "worker", "queue")), task_url(row(result)), "/admin/"]
    assert {page: root.get(page).status_code for page in pages} == dict.fromkeys(pages, 200)
    assert f"#{result.id}" in root.get(list_url("failedtask")).content.decode()
    assert traffic.goes_only_to(project)


def test_the_admin_changes_are_made_there(project, traffic, root):
    if connections[project].vendor == "sqlite" and project != "default":
        pytest.skip("the second alias is the same file here, which has one writer: admin's own records would wait")
    result = run_one(tasks.fail.enqueue())
    waiting = tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    root.post(task_url(row(result), "retry"))
    root.post(list_url("task"), {"action": "run", "_selected_action": [waiting.id], "index": 0})
    assert (row(result).state, row(waiting).state) == ("ready", "ready")
    for change, task in (("cancel", result), ("delete", waiting)):
        root.post(list_url("task"), {"action": change, "_selected_action": [task.id], "confirmed": "yes"})
    assert dict(Task.objects.values_list("pk", "state")) == {int(result.id): "cancelled"}
    Queue.objects.create(name="mail")
    root.post("/admin/locqueue/queue/mail/pause/", {"confirmed": "yes"})
    assert Queue.objects.get(name="mail").paused_at is not None
    root.post("/admin/locqueue/queue/mail/resume/")
    assert Queue.objects.get(name="mail").paused_at is None
    assert traffic.goes_only_to(project)


def test_the_access_log_s_own_tables_are_where_the_routers_write_them(project, traffic):
    if connections[project].vendor == "sqlite" and project != "default":
        pytest.skip("the second alias is the same file here, which has one writer: the log's transaction would wait")
    record_hits.enqueue([a_hit(ip="127.0.0.1").to_json()])
    run_next(2)  # the batch, and the network that it met
    assert AccessLog.objects.using("default").count() == 1
    assert Location.objects.using("default").get().state == "reserved"
    assert traffic.goes_only_to(project)


@pytest.fixture
def lockless():
    """Let both aliases be in a transaction at once, although on SQLite they are one file with one writer."""
    if connections["second"].vendor == "sqlite":
        connections["second"].ensure_connection()
        connections["second"].transaction_mode = None


@pytest.mark.parametrize("data", ["default", "second"])
def test_enqueueing_on_commit_waits_for_the_data_on_whichever_alias(lockless, data):
    with transaction.atomic(using=data):
        tasks.add.enqueue_on_commit(1)
        assert Task.objects.count() == 0
    assert Task.objects.count() == 1


@pytest.mark.parametrize("rolled_back", ["default", "second"])
def test_enqueueing_on_commit_needs_every_open_transaction_to_commit(lockless, rolled_back):
    with transaction.atomic(using="second"), transaction.atomic(using="default"):
        connections["second"].cursor().execute("SELECT 1")
        tasks.add.enqueue_on_commit(1)
        transaction.set_rollback(True, using=rolled_back)
    assert Task.objects.count() == 0


def test_enqueueing_on_commit_is_after_the_last_of_the_open_transactions(lockless):
    with transaction.atomic(using="default"):
        with transaction.atomic(using="second"):
            tasks.add.enqueue_on_commit(1)
        assert Task.objects.count() == 0
    assert Task.objects.count() == 1
