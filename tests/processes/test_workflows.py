"""A workflow goes on, whoever dies in between."""

import pytest

from django_locqueue import group
from django_locqueue.models import State, Workflow
from tests import tasks, workflow_tasks
from tests.processes import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]


def test_a_group_whose_worker_is_killed_is_finished_by_another_and_followed_once(run_fast_worker, ledger):
    members = [tasks.sleep_at_first.call(ledger.path, 60), *(tasks.add.call(number) for number in range(20))]
    result = group(members).then(workflow_tasks.note_results.call(ledger.path)).enqueue()
    first = run_fast_worker("--threads", "1", "--worker-id", "first")
    ledger.wait_for("start")
    run_fast_worker("--threads", "1", "--worker-id", "second")
    wait_until(lambda: Workflow.objects.get().successful >= 5)
    first.kill()
    wait_until(lambda: Workflow.objects.get().state == State.SUCCESSFUL)
    result.refresh()
    assert (result.successful, result.failed, result.cancelled) == (22, 0, 0)
    lines = ledger.lines
    assert lines.count("start") == 2
    assert [line for line in lines if line.startswith("result")] == [
        "result None",
        *(f"result {number}" for number in range(20)),
    ]
