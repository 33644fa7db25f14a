"""A unique task whose worker is killed."""

import pytest

from django_locqueue.models import State, Task
from tests import tasks, unique_tasks
from tests.processes import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]


def test_a8_a_key_that_is_enqueued_again_after_its_worker_was_killed_runs_once_at_a_time(run_fast_worker, ledger):
    """A8."""
    first = unique_tasks.stay_at_first.enqueue(ledger.path, 60)
    for number in range(5):
        tasks.add.enqueue(number)
    worker = run_fast_worker("--threads", "1")
    ledger.wait_for("start")
    worker.kill()
    assert unique_tasks.stay_at_first.enqueue(ledger.path, 60).id == first.id
    second = run_fast_worker("--threads", "4")
    wait_until(lambda: not Task.objects.exclude(state=State.SUCCESSFUL).exists())
    assert ledger.lines == ["start", "start", "end"]
    assert Task.objects.count() == 6
    assert "Traceback" not in second.output
    assert not unique_tasks.stay_at_first.enqueue(ledger.path, 60).is_duplicate
