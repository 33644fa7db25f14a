"""How workflows go on: from step to step, whatever becomes of their tasks."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_locqueue.exceptions import ResultsGone, TaskFailed
from django_locqueue.models import Task, Workflow
from django_locqueue.policies.outcome import Kind
from django_locqueue.policies.report import Report
from django_locqueue.policies.terms import Terms
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.damage import damage
from tests.store.flows import counts, end_all, flow, ids_of, start, states
from tests.store.rows import call, claim_one, enqueue, outcome, row


def test_only_the_first_step_gets_its_turn_at_once(store: Store):
    assert states(start(store, 2, 1, 1)) == ["ready ready", "blocked", "blocked"]


def test_each_step_begins_when_the_one_before_has_ended(store: Store, owner: Owner):
    workflow = start(store, 1, 2, 1)
    seen = []
    while claimed := end_all(store, owner):
        seen.append([row(task.id)["step"] for task in claimed])
    assert seen == [[0], [1, 1], [2]]
    assert (flow(workflow).state, flow(workflow).finished_at is None, counts(workflow)) == (
        "successful",
        False,
        (4, 0, 0),
    )


def test_a_step_is_over_with_the_last_of_its_tasks(store: Store, owner: Owner):
    workflow = start(store, 3, 1)
    end_all(store, owner, limit=2)
    assert states(workflow) == ["successful successful ready", "blocked"]
    end_all(store, owner)
    assert states(workflow)[1] == "ready"


def test_a_task_whose_turn_has_come_stands_behind_what_was_enqueued_before_that(store: Store, owner: Owner):
    start(store, 1, 1)
    other = enqueue(store)
    end_all(store, owner, limit=1)
    assert [task.id == other.id for task in store.claim(owner, 2)] == [True, False]


def test_a_task_that_is_tried_again_has_not_ended(store: Store, owner: Owner):
    workflow = start(store, 1, 1)
    end_all(store, owner, Kind.RETRIED, delay=60)
    assert (states(workflow), flow(workflow).remaining) == (["scheduled", "blocked"], 1)


def test_a_group_goes_on_after_a_failure_and_what_follows_is_cancelled(store: Store, owner: Owner):
    workflow = start(store, 2, 1, 2)
    end_all(store, owner, Kind.FAILED, limit=1)
    assert states(workflow) == ["failed ready", "blocked", "blocked blocked"]
    end_all(store, owner)
    assert states(workflow) == ["failed successful", "cancelled", "cancelled cancelled"]
    assert (flow(workflow).state, counts(workflow)) == ("failed", (1, 1, 3))
    skipped = row(ids_of(workflow, 1)[0])
    assert skipped["error_class"] == "django_locqueue.exceptions.StepSkipped"
    assert "did not succeed" in skipped["error_message"]


def test_a_step_that_runs_on_failure_runs_all_the_same(store: Store, owner: Owner):
    workflow = start(store, 1, 1, 1, 1, on_failure=[2])
    end_all(store, owner, Kind.FAILED)
    assert states(workflow) == ["failed", "cancelled", "ready", "blocked"]
    end_all(store, owner)
    assert states(workflow) == ["failed", "cancelled", "successful", "cancelled"]
    assert flow(workflow).state == "failed"


def test_without_a_failure_a_step_that_runs_on_failure_is_like_any_other(store: Store, owner: Owner):
    workflow = start(store, 1, 1, on_failure=[1])
    end_all(store, owner)
    end_all(store, owner)
    assert flow(workflow).state == "successful"


# -- every way in which a task may end without success


def fail(store: Store, owner: Owner, task_id: int) -> None:
    store.ack([(claim_one(store, owner), outcome(Kind.FAILED))])


def cancel_itself(store: Store, owner: Owner, task_id: int) -> None:
    store.ack([(claim_one(store, owner), outcome(Kind.CANCELLED))])


def fail_unkept(store: Store, owner: Owner, task_id: int) -> None:
    store.ack([(claim_one(store, owner), outcome(Kind.FAILED, keep_row=False))])


def be_cancelled_while_waiting(store: Store, owner: Owner, task_id: int) -> None:
    store.cancel([task_id])


def be_cancelled_while_running(store: Store, owner: Owner, task_id: int) -> None:
    task = claim_one(store, owner)
    store.cancel([task_id])
    store.release([task])


def be_deleted(store: Store, owner: Owner, task_id: int) -> None:
    store.delete([task_id])


def die_with_its_worker(store: Store, owner: Owner, task_id: int) -> None:
    claim_one(store, owner)
    store.stop_worker(owner.id)
    assert [each.state for each in store.rescue(max_crashes=1)] == ["failed"]


def be_given_up(store: Store, owner: Owner, task_id: int) -> None:
    task = claim_one(store, owner)
    store.give_up_worker(owner.id, begun=[task.key], max_crashes=1)


def be_set_aside(store: Store, owner: Owner, task_id: int) -> None:
    damage(task_id, "started_at 0" if connection.vendor == "sqlite" else "attempt at its end")
    assert store.set_aside() == [task_id]


@pytest.mark.parametrize(
    "end",
    [
        fail,
        cancel_itself,
        fail_unkept,
        be_cancelled_while_waiting,
        be_cancelled_while_running,
        be_deleted,
        die_with_its_worker,
        be_given_up,
        be_set_aside,
    ],
)
def test_whatever_ends_the_last_task_of_a_step_ends_the_step(store: Store, owner: Owner, end):
    workflow = start(store, 1, 1)
    end(store, owner, ids_of(workflow, 0)[0])
    assert states(workflow)[1] == "cancelled"
    assert (flow(workflow).state, flow(workflow).remaining, sum(counts(workflow))) == ("failed", 0, 2)


def test_a_task_that_is_rescued_and_runs_again_has_not_ended(store: Store, owner: Owner):
    workflow = start(store, 1, 1)
    claim_one(store, owner)
    store.stop_worker(owner.id)
    store.rescue(max_crashes=3)
    assert states(workflow) == ["ready", "blocked"]


def test_an_outcome_that_comes_too_late_counts_nothing(store: Store, owner: Owner):
    workflow = start(store, 2, 1)
    task = claim_one(store, owner)
    store.ack([(task, outcome(Kind.SUCCESSFUL))])
    assert store.ack([(task, outcome(Kind.SUCCESSFUL))]) == {}
    assert (flow(workflow).remaining, counts(workflow)) == (1, (1, 0, 0))


def test_the_end_of_a_task_whose_workflow_is_gone_is_stored(store: Store, owner: Owner):
    workflow = start(store, 1)
    Workflow.objects.all().delete()
    assert [task.workflow_id for task in end_all(store, owner)] == [workflow]
    assert Task.objects.get().state == "successful"


# -- later steps


@pytest.mark.parametrize("verb", ["cancel", "delete"])
def test_a_task_that_is_taken_out_before_its_turn_holds_up_nothing(store: Store, owner: Owner, verb: str):
    workflow = start(store, 1, 2, 1)
    getattr(store, verb)(ids_of(workflow, 1)[:1])
    assert flow(workflow).remaining == 1
    end_all(store, owner)
    assert states(workflow)[1].endswith("ready")
    end_all(store, owner)
    assert (states(workflow)[2], flow(workflow).state) == ("cancelled", "failed")


def test_a_step_of_which_nothing_is_left_is_passed_over(store: Store, owner: Owner):
    workflow = start(store, 1, 1, 1, on_failure=[2])
    store.cancel(ids_of(workflow, 1))
    end_all(store, owner)
    assert states(workflow) == ["successful", "cancelled", "ready"]


def test_a_delayed_task_of_a_later_step_waits_for_its_turn_and_its_time(store: Store, owner: Owner):
    due = store.now() + timedelta(hours=1)
    workflow = start(store, 1, 1, run_after=due)
    first, second = ids_of(workflow, 0) + ids_of(workflow, 1)
    assert (row(first)["state"], row(second)["state"]) == ("scheduled", "blocked")
    store.run_now([first])
    end_all(store, owner)
    assert (row(second)["state"], row(second)["run_after"]) == ("scheduled", due)


def test_a_limited_task_of_a_later_step_waits_under_its_limit_when_its_turn_comes(store: Store, owner: Owner):
    terms = Terms(concurrency=1).dump()
    limited: Any = {"turn": "blocked", "extra": (("limit_key", 'c:"shop" 1'), ("terms", terms))}
    workflow = start(store, 1, 1, steps={"is_limited": True}, **limited)
    first, second = ids_of(workflow, 0) + ids_of(workflow, 1)
    assert (row(first)["limit_key"], row(second)["limit_key"]) == ('c:"shop" 1', None)
    Task.objects.filter(pk=first).update(state="ready")  # who claims under limits is another matter
    end_all(store, owner)
    assert (row(second)["state"], row(second)["limit_key"]) == ("blocked", 'c:"shop" 1')


# -- results


def test_the_results_of_a_step_come_in_the_order_of_its_calls(store: Store, owner: Owner):
    workflow = start(store, 3, 1)
    tasks = store.claim(owner, 3)
    store.ack([(task, outcome(Kind.SUCCESSFUL, return_value=f"[{task.id}]")) for task in reversed(tasks)])
    assert list(store.results_before(ids_of(workflow, 1)[0])) == [[pk] for pk in ids_of(workflow, 0)]


def test_in_the_place_of_a_task_that_failed_its_error_is_given(store: Store, owner: Owner):
    workflow = start(store, 2, 1, on_failure=[1])
    end_all(store, owner, Kind.FAILED, limit=1)
    end_all(store, owner)
    failed, value = store.step_results(workflow, 0)
    assert isinstance(failed, TaskFailed)
    assert (failed.task_id, failed.message, value) == (ids_of(workflow, 0)[0], "no such order", "done")


def test_results_that_are_gone_are_not_left_out_silently(store: Store, owner: Owner):
    workflow = start(store, 2)
    end_all(store, owner)
    store.delete(ids_of(workflow, 0)[:1])
    results = store.step_results(workflow, 0)
    assert next(results) == "done"
    with pytest.raises(ResultsGone, match="1 are gone"):
        next(results)


def test_the_results_of_what_has_not_ended_are_refused(store: Store):
    with pytest.raises(ValueError, match="has not ended"):
        list(store.step_results(start(store, 1), 0))


def test_the_first_step_has_no_results_before_it(store: Store):
    with pytest.raises(ValueError, match="no other step"):
        next(store.results_before(ids_of(start(store, 1, 1), 0)[0]))


def test_a_task_that_is_not_to_be_kept_stays_until_the_workflow_has_succeeded(store: Store, owner: Owner):
    terms = Terms(forget=True).dump()
    workflow = start(store, 1, 1, steps={"forgets": True}, extra=(("terms", terms),))
    end_all(store, owner, keep_row=False)
    assert list(store.results_before(ids_of(workflow, 1)[0])) == ["done"]
    end_all(store, owner, keep_row=False)
    assert (states(workflow), flow(workflow).state, counts(workflow)) == (["–", "–"], "successful", (2, 0, 0))


# -- what it costs


def test_a_last_word_about_progress_is_stored_with_the_end(store: Store, owner: Owner):
    workflow = start(store, 1, 1)
    end_all(store, owner, report=Report(fraction=1.0))
    assert (states(workflow)[1], row(ids_of(workflow, 0)[0])["progress"]) == ("ready", 1.0)


def test_a_batch_of_ends_counts_down_by_a_bounded_number_of_statements(store: Store, owner: Owner):
    workflow = start(store, 10_000, 1)
    claimed = store.claim(owner, 300)

    def statements(tasks) -> int:
        with CaptureQueriesContext(connection) as queries:
            store.ack([(task, outcome(Kind.SUCCESSFUL)) for task in tasks])
        return len(queries)

    few = statements(claimed[:10])
    assert statements(claimed[10:]) == few <= 9  # with the begin and the end of transactions, and a lock on MariaDB
    assert flow(workflow).remaining == 9_700


def test_many_chains_go_on_together(store: Store, owner: Owner):
    def statements(count: int) -> int:
        workflows = [start(store, 1, 1) for _ in range(count)]
        tasks = store.claim(owner, count)
        with CaptureQueriesContext(connection) as queries:
            store.ack([(task, outcome(Kind.SUCCESSFUL)) for task in tasks])
        assert {states(workflow)[1] for workflow in workflows} == {"ready"}
        Task.objects.all().delete()
        return len(queries)

    assert statements(3) == statements(20)


def test_workflows_of_a_batch_go_on_each_in_its_own_way(store: Store, owner: Owner):
    plain, limited, broken, last = (
        start(store, 1, 1),
        start(store, 1, 1, steps={"is_limited": True}),
        start(store, 1, 1),
        start(store, 1),
    )
    gone = start(store, 1, 1, 1)
    store.delete(ids_of(gone, 1))
    tasks = {task.workflow_id: task for task in store.claim(owner, 5)}
    kinds = {broken: Kind.FAILED}
    store.ack([(task, outcome(kinds.get(pk or 0, Kind.SUCCESSFUL))) for pk, task in tasks.items()])
    assert [states(each) for each in (plain, limited, broken, last, gone)] == [
        ["successful", "ready"],
        ["successful", "ready"],
        ["failed", "cancelled"],
        ["successful"],
        ["successful", "–", "cancelled"],
    ]
    assert [flow(each).state for each in (plain, broken, last, gone)] == ["running", "failed", "successful", "failed"]


def test_the_end_of_a_group_of_10_000_begins_the_next_step(store: Store, owner: Owner):
    workflow = start(store, 10_000, 1)
    Task.objects.filter(workflow_id=workflow, step=0).exclude(pk__in=ids_of(workflow, 0)[:1]).update(state="successful")
    Workflow.objects.update(remaining=1, successful=9_999)
    with CaptureQueriesContext(connection) as queries:
        end_all(store, owner)
    assert states(workflow)[1] == "ready"
    assert len(queries) <= 20
    assert not any("count(" in query["sql"].lower() for query in queries)


def test_the_end_of_a_plain_task_is_written_as_ever(store: Store, owner: Owner, django_assert_num_queries):
    store.enqueue_many([call(), call()])
    tasks = store.claim(owner, 2)
    with CaptureQueriesContext(connection) as queries:
        store.ack([(task, outcome(Kind.SUCCESSFUL)) for task in tasks])
    assert not any("locqueue_workflow" in query["sql"] for query in queries)
    if connection.vendor != "mysql":
        assert len(queries) == 1
