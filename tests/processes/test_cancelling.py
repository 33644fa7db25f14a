"""A running task that is cancelled from another process, by a real command."""

import pytest

from django_locqueue.models import State
from tests import cancelled_tasks, tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("processes", ["1", pytest.param("2", marks=pytest.mark.any_vendor)])
def test_a_command_stops_a_task_in_another_process_and_nothing_else(run_fast_worker, start_process, ledger, processes):
    result = cancelled_tasks.note_and_compute.enqueue(ledger.path)
    run_fast_worker("--threads", "1", "--processes", processes, wait=False)
    ledger.wait_for("start")
    command = start_process("queue_cancel", result.id, "--reason", "wrong month", "--yes")
    assert command.wait() == 0
    assert f"Asked task #{result.id} to stop, which runs." in command.output
    wait_until(lambda: row(result).is_finished)
    assert row(result).state == State.CANCELLED
    assert row(result).error_message.endswith("wrong month")
    canary = tasks.add.enqueue(1)
    wait_until(lambda: row(canary).state == State.SUCCESSFUL)
    assert ledger.lines == ["start"]


@pytest.mark.any_vendor
def test_the_command_says_what_it_has_cancelled_and_nothing_else(start_process):
    result = tasks.add.enqueue(1)
    command = start_process("queue_cancel", result.id, "--yes")
    assert command.wait() == 0
    assert command.lines == [f"Cancelled task #{result.id}."]
