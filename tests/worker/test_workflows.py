"""Workflows run by a whole worker: limits, chunks and receivers within them."""

import threading

import pytest

from django_locqueue import chain, compat, group
from django_locqueue.models import Limit, Workflow
from tests import chunked_tasks, limited_tasks, tasks, workflow_tasks
from tests.running import in_thread
from tests.worker.conftest import a_worker

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fast(settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"POLL_SECONDS": (0.01, 0.05)}}
    limited_tasks.reset()
    chunked_tasks.seen.clear()


def drain(**options):
    assert in_thread(a_worker(**{"drain": True, "threads": 4, **options}).run) == 0


def test_a_worker_that_drains_runs_a_workflow_to_its_end():
    result = chain(
        tasks.echo.call(1), group(tasks.echo.call(n) for n in range(30)), workflow_tasks.gather.call()
    ).enqueue()
    drain()
    assert list(result.results()) == [list(range(30))]


def test_a_limit_holds_for_the_tasks_of_every_step():
    step = group(limited_tasks.in_order.call(7, number) for number in range(4))
    result = chain(step, step, workflow_tasks.gather.call()).enqueue()
    drain()
    result.refresh()
    assert result.state == "successful"
    assert limited_tasks.began == [(7, n) for n in range(4)] * 2
    assert max(limited_tasks.together) == 1
    assert Limit.objects.count() == 1


def test_a_task_stands_in_its_line_from_when_its_turn_has_come():
    chain(tasks.echo.call(1), limited_tasks.in_order.call(7, "behind a step")).enqueue()
    limited_tasks.in_order.enqueue(7, "enqueued later")
    drain()
    assert limited_tasks.began == [(7, "enqueued later"), (7, "behind a step")]


def test_members_that_run_in_chunks_are_counted_each():
    result = group(chunked_tasks.note.call(n) for n in range(12)).then(workflow_tasks.gather.call()).enqueue()
    drain()
    result.refresh()
    assert (result.state, result.successful) == ("successful", 13)
    assert sorted(call.args[0] for calls in chunked_tasks.seen for call in calls) == list(range(12))


def test_receivers_hear_of_skipped_tasks_on_the_announcers_thread():
    heard = []

    def note(task_result, **kwargs):
        heard.append((task_result.args, threading.current_thread().name))

    compat.task_finished.connect(note)
    try:
        chain(tasks.fail.call("broken"), tasks.echo.call("skipped")).enqueue()
        drain()
    finally:
        compat.task_finished.disconnect(note)
    assert [args for args, _ in heard] in ([["broken"], ["skipped"]], [["skipped"], ["broken"]])
    assert {name for _, name in heard} == {"locqueue-announcer"}
    assert Workflow.objects.get().state == "failed"
