"""Workflows as a project writes them: chains, groups, and what follows a group."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections, transaction

from django_locqueue import chain, compat, group
from django_locqueue.exceptions import WorkflowDoesNotExist
from django_locqueue.models import State, Task, Workflow
from tests import tasks, workflow_tasks
from tests.running import our_backend, run_next

pytestmark = pytest.mark.django_db(transaction=True)


def run_all(result):
    while Task.objects.filter(state=State.READY).exists():
        run_next()
    result.refresh()
    return result


def shape(workflow):
    """Return how many calls each step has."""
    return [len(step.calls) for step in workflow.steps]


A, B, C = (tasks.echo.call(letter) for letter in "abc")
DEFINITION: Any = tasks.echo
TEXT: Any = "b"
NUMBER: Any = 3
NOTHING: Any = None


def test_a_call_is_a_value_and_runs_nothing():
    call = tasks.fail.call("not now")
    assert (call.definition, call.args, call.kwargs) == (tasks.fail, ("not now",), {})


@pytest.mark.parametrize(
    ("workflow", "sizes"),
    [
        (chain(A, B, C), [1, 1, 1]),
        (chain(A, chain(B, C)), [1, 1, 1]),
        (group(A, B, C), [3]),
        (group(tasks.echo.call(number) for number in range(5)), [5]),
        (group([A, B]), [2]),
        (group(A, group(B, C)), [3]),
        (group(A, B).then(C), [2, 1]),
        (A.then(B).then(C), [1, 1, 1]),
        (chain(A, group(B, C), A), [1, 2, 1]),
        (group(A, B).then(group(B, C), A), [2, 2, 1]),
        (group(A, B).then(chain(B, C)), [2, 1, 1]),
    ],
)
def test_what_is_composed_has_steps_of_calls(workflow, sizes):
    assert shape(workflow) == sizes


@pytest.mark.parametrize(
    ("compose", "error", "reason"),
    [
        (group, ValueError, "A group needs at least one call"),
        (lambda: group([]), ValueError, "A group needs at least one call"),
        (chain, ValueError, "A chain needs at least one call"),
        (A.then, ValueError, "needs a call or a group"),
        (lambda: chain(DEFINITION), TypeError, r"takes calls and groups of calls, such as send_receipt.call\(7\)"),
        (lambda: chain(A, TEXT), TypeError, "got 'b' at 1"),
        (lambda: group(TEXT), TypeError, "got 'b' at 0"),
        (lambda: group(A, NUMBER), TypeError, "got 3 at 0"),
        (lambda: A.then(NOTHING), TypeError, "got None at 0"),
        (lambda: group(chain(A, B), C), TypeError, "A group holds calls, not chains"),
        (lambda: A.then(B, on_failure=TEXT), ValueError, 'must be "cancel" or "run"'),
        (lambda: chain(*[A] * 1001), ValueError, "at most 1,000 steps"),
    ],
)
def test_what_is_no_workflow_is_refused_when_it_is_composed(compose, error, reason):
    with pytest.raises(error, match=reason):
        compose()


def test_a_chain_runs_in_its_order():
    result = run_all(chain(tasks.echo.call(1), tasks.echo.call(2), tasks.echo.call(3)).enqueue())
    ended = result.tasks.order_by("finished_at", "id").values_list("return_value", flat=True)
    assert list(ended) == [1, 2, 3]
    assert (result.status, result.progress, list(result.results())) == (compat.TaskResultStatus.SUCCESSFUL, 1.0, [3])


@pytest.mark.parametrize("gather", [workflow_tasks.gather, workflow_tasks.gather_async], ids=["thread", "event loop"])
def test_what_follows_a_group_gets_its_results_in_order(gather):
    result = run_all(group(tasks.echo.call(letter) for letter in "hello").then(gather.call()).enqueue())
    assert list(result.results()) == [["h", "e", "l", "l", "o"]]


def test_results_are_more_than_are_read_at_once(monkeypatch):
    monkeypatch.setattr("django_locqueue.store.workflows.READ", 2)
    result = run_all(group(tasks.echo.call(letter) for letter in "hello").then(workflow_tasks.gather.call()).enqueue())
    assert list(result.results()) == [["h", "e", "l", "l", "o"]]


def test_what_runs_on_failure_sees_the_error():
    flow = group(tasks.echo.call("fine"), tasks.fail.call("broken"), workflow_tasks.cancel_itself.call())
    result = run_all(flow.then(workflow_tasks.gather.call(), on_failure="run").enqueue())
    [[fine, broken, cancelled]] = result.results()
    assert fine == "fine"
    assert broken.endswith("builtins.ValueError: broken")
    assert cancelled.endswith("django_locqueue.exceptions.Cancel: changed its mind")
    assert (result.state, result.status) == ("failed", compat.TaskResultStatus.FAILED)
    assert (result.successful, result.failed, result.cancelled) == (2, 1, 1)


def test_atomic_tasks_and_those_that_keep_no_result_are_members_like_others():
    calls = [workflow_tasks.double_atomically.call(1), workflow_tasks.double_and_forget.call(2)]
    result = run_all(group(calls).then(workflow_tasks.gather.call()).enqueue())
    assert list(result.results()) == [[2, 4]]
    assert [row.task_path for row in result.tasks] == [
        "tests.workflow_tasks.double_atomically",
        "tests.workflow_tasks.gather",
    ]


def test_the_results_of_a_task_outside_of_a_workflow_are_refused():
    workflow_tasks.gather.enqueue()
    run_next()
    assert "comes after no other step" in Task.objects.get().error_message


def test_options_travel_with_the_call():
    hurried = tasks.echo.using(priority=7, queue_name="mail", metadata={"tenant": "acme"})
    chain(tasks.echo.call(1), hurried.call(2)).enqueue()
    row = Task.objects.get(step=1)
    assert (row.priority, row.queue_name, row.metadata) == (7, "mail", {"tenant": "acme"})


def test_a_workflow_is_named_by_its_steps():
    result = chain(tasks.add.call(1), group([A] * 1500), group(A, tasks.fail.call())).enqueue()
    assert result.name == "add → echo × 1,500 → echo, fail × 2"


def test_a_workflow_that_is_rolled_back_never_was():
    with transaction.atomic():
        chain(A, B).enqueue()
        transaction.set_rollback(True)
    assert not Task.objects.exists()
    assert not Workflow.objects.exists()


def test_a_workflow_can_wait_for_the_commit():
    with transaction.atomic():
        chain(A, B).enqueue_on_commit()
        assert not Task.objects.exists()
    assert Task.objects.count() == 2


async def test_a_workflow_can_be_enqueued_and_cancelled_in_async_code():
    result = await chain(A, B).aenqueue()
    assert await result.acancel("enough")
    await result.arefresh()
    assert (result.state, result.cancelled) == ("cancelled", 2)
    await sync_to_async(connections.close_all)()  # of the thread that asgiref keeps


def test_a_result_tells_how_far_the_workflow_is():
    result = group(A, B).then(C).enqueue()
    run_next()
    result.refresh()
    assert (result.step, result.steps, result.total, result.ended, round(result.progress, 2)) == (1, 2, 3, 1, 0.33)
    assert (result.state, result.status, result.is_finished) == ("running", compat.TaskResultStatus.RUNNING, False)
    assert our_backend().get_workflow(result.id) == result


@pytest.mark.parametrize("workflow_id", ["0", "nothing", -1, "1" * 40])
def test_a_workflow_that_does_not_exist_is_said_to(workflow_id):
    with pytest.raises(WorkflowDoesNotExist, match="There is no workflow"):
        our_backend().get_workflow(workflow_id)


def test_a_cancelled_workflow_is_not_cancelled_again():
    result = chain(A, B).enqueue()
    assert (result.cancel("enough"), result.cancel()) == (True, False)
    assert set(result.tasks.values_list("error_message", flat=True)) == {"enough"}


def test_an_argument_that_json_cannot_hold_is_refused_before_anything_is_stored():
    with pytest.raises(TypeError, match="value"):
        chain(A, tasks.echo.call({1, 2})).enqueue()
    assert not Workflow.objects.exists()


OTHER = {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": [], "OPTIONS": {"DATABASE": "second"}}
BACKENDS = "django.tasks.backends" if compat.IS_DJANGO else "django_tasks.backends"
DUMMY = {"BACKEND": f"{BACKENDS}.dummy.DummyBackend", "QUEUES": []}


@pytest.mark.parametrize(("entry", "where"), [(OTHER, "'second'"), (DUMMY, "'DummyBackend'")])
def test_a_definition_of_another_database_is_refused(settings, entry, where):
    settings.TASKS = {**settings.TASKS, "other": entry}
    with pytest.raises(compat.InvalidTask, match=f"in one database.*echo belongs to .*other.*{where}"):
        chain(A, tasks.echo.using(backend="other").call(1)).enqueue()
    assert not Workflow.objects.exists()


def test_a_unique_definition_is_refused():
    with pytest.raises(compat.InvalidTask, match="once is unique, and cannot be part of a workflow"):
        chain(A, workflow_tasks.once.call(1)).enqueue()
    assert not Workflow.objects.exists()


def test_a_definition_of_another_backend_on_the_same_database_is_a_member(settings):
    settings.TASKS = {**settings.TASKS, "other": {**OTHER, "OPTIONS": {"MAX_ATTEMPTS": 5}}}
    chain(A, tasks.echo.using(backend="other").call(1)).enqueue()
    assert Task.objects.filter(backend_alias="other", max_attempts=5).count() == 1


def test_a_backend_without_workflows_says_so(settings):
    settings.TASKS = {"default": DUMMY}
    with pytest.raises(TypeError, match="DummyBackend, which has no workflows"):
        chain(A, B).enqueue()


def test_receivers_hear_of_every_task_that_is_enqueued_and_that_is_cancelled():
    enqueued, finished = [], []

    def note_enqueued(task_result, **kwargs):
        enqueued.append(task_result.args)

    def note_finished(task_result, **kwargs):
        finished.append((task_result.status, task_result.args))

    compat.task_enqueued.connect(note_enqueued)
    compat.task_finished.connect(note_finished)
    try:
        run_all(chain(tasks.fail.call("broken"), A, B).enqueue())
    finally:
        compat.task_enqueued.disconnect(note_enqueued)
        compat.task_finished.disconnect(note_finished)
    assert enqueued == [["broken"], ["a"], ["b"]]
    assert sorted(finished, key=lambda each: each[1]) == [
        (compat.TaskResultStatus.FAILED, ["a"]),
        (compat.TaskResultStatus.FAILED, ["b"]),
        (compat.TaskResultStatus.FAILED, ["broken"]),
    ]


def test_where_failed_tasks_are_not_kept_those_of_a_workflow_stay_until_it_has_ended(settings):
    settings.TASKS = {
        "default": {**settings.TASKS["default"], "OPTIONS": {"RETENTION": {"SUCCESSFUL": 0, "FAILED": 0}}}
    }
    flow = group(A, tasks.fail.call("broken")).then(workflow_tasks.gather.call(), on_failure="run")
    result = run_all(flow.enqueue())
    assert [len(each) for each in result.results()] == [2]
    store = our_backend().store
    store.prune({"successful": 0, "failed": 0})
    assert not Task.objects.exists()
