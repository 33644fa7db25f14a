"""E3: a whole worker, from its checks to its last words, of a project whose reads go to a replica."""

from datetime import timedelta

import pytest
from django.utils import timezone

from django_locqueue.models import Queue, State, Task, Worker
from tests import retried_tasks, tasks
from tests.processes import wait_until
from tests.running import our_backend, row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

PROJECTS = {
    "a replica": ({}, "default"),
    "routers that refuse": ({"TEST_ROUTER": "RefusesReads"}, "default"),
    "an alias of its own by routers": ({"TEST_ROUTER": "QueueApart"}, "second"),
    "an alias of its own by DATABASE": ({"TEST_QUEUE_DATABASE": "second"}, "second"),
}


@pytest.mark.parametrize("project", PROJECTS)
def test_e3_a_worker_does_all_its_work_where_the_queue_is_written(run_worker, project, tmp_path):
    environment, alias = PROJECTS[project]
    done = tasks.create_group.enqueue("written")
    failed = tasks.fail.enqueue()
    retried = retried_tasks.fail_until.enqueue(str(tmp_path / "ledger"), 2)
    soon = tasks.add.using(run_after=timezone.now() + timedelta(seconds=0.5)).enqueue(1)
    paused = tasks.configured.enqueue()
    our_backend().store.pause("mail")
    dead = Worker.objects.create(name="dead:1", lease_until=timezone.now() - timedelta(minutes=1))
    lost = tasks.add.enqueue(2)
    Task.objects.filter(pk=lost.id).update(state="running", worker=dead, attempt=1, claim_no=1, worker_ids="dead:1\n")
    old = tasks.add.enqueue(3)
    Task.objects.filter(pk=old.id).update(state="failed", finished_at=timezone.now() - timedelta(days=99))

    worker = run_worker("--threads", "2", env={"DJANGO_SETTINGS_MODULE": "tests.settings_routing", **environment})
    wanted = [(done, "successful"), (failed, "failed"), (retried, "successful"), (soon, "successful")]
    for result, state in [*wanted, (lost, "successful")]:
        wait_until(lambda result=result, state=state: row(result).state == state, worker)
    worker.signal()
    assert worker.wait() == 0
    assert f"database={alias} " in worker.output
    for refused in ("left to the routers", "no such table", "goes on trying"):
        assert refused not in worker.output, worker.output
    assert row(paused).state == State.READY
    assert Queue.objects.get(name="mail").paused_at is not None
    assert Worker.objects.get(name="test-1").stopped_at is not None
