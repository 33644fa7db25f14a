"""Unique tasks: what a caller gets whose key another task holds."""

from datetime import timedelta

import pytest
from django.utils import timezone

from django_locqueue import DuplicateTask, Unique, compat, task
from django_locqueue.backend import LocQueueBackend
from django_locqueue.models import State, Task
from tests import tasks, unique_tasks
from tests.running import our_backend, row

pytestmark = pytest.mark.django_db


def finish(result, state=State.SUCCESSFUL):
    """Let a task have ended, as the store would leave it."""
    held = row(result).unique_lock if row(result).unique_until == "window" else None
    Task.objects.filter(pk=int(result.id)).update(state=state, finished_at=timezone.now(), unique_lock=held)


def begin(result):
    """Let a worker have claimed a task, as the store would leave it."""
    held = None if row(result).unique_until == "started" else row(result).unique_lock
    Task.objects.filter(pk=int(result.id)).update(state=State.RUNNING, attempt=1, unique_lock=held)


# -- skip


def test_a_second_call_gets_the_result_of_the_first():
    first, second = unique_tasks.ship.enqueue(7), unique_tasks.ship.enqueue(7, "again")
    assert (second.id, second.args, second.status) == (first.id, [7], compat.TaskResultStatus.READY)
    assert (first.is_duplicate, second.is_duplicate) == (False, True)
    assert Task.objects.count() == 1


def test_a_call_with_another_key_is_a_task_of_its_own():
    assert unique_tasks.ship.enqueue(7).id != unique_tasks.ship.enqueue(8).id


def test_the_same_key_of_another_definition_is_another_key():
    assert unique_tasks.ship.enqueue(7).id != unique_tasks.settle.enqueue(7).id


def test_a_key_is_the_same_however_the_argument_is_passed():
    assert unique_tasks.ship.enqueue(7).id == unique_tasks.ship.enqueue(order_id=7).id


def test_a_first_call_is_one_statement(django_assert_num_queries):
    with django_assert_num_queries(3 if our_backend().store.connection.vendor == "mysql" else 1):
        unique_tasks.ship.enqueue(7)


def test_a_plain_call_is_the_statement_that_it_was(django_assert_num_queries):
    with django_assert_num_queries(1) as captured:
        tasks.add.enqueue(1)
    assert "unique" not in captured[0]["sql"]
    assert "CONFLICT" not in captured[0]["sql"]


@pytest.mark.parametrize("key", ["x" * 400, "nul \x00", "lone \ud800", "snow ☃ 雪", "Case", "case", "case "])
def test_any_text_can_be_a_key(key):
    first = unique_tasks.ship.using(unique_key=key)
    assert first.enqueue(1).id == first.enqueue(2).id


def test_keys_that_differ_in_case_or_trailing_spaces_differ():
    keys = ["key", "Key", "key ", "kéy"]
    assert len({unique_tasks.ship.using(unique_key=key).enqueue(1).id for key in keys}) == len(keys)


def test_using_gives_a_call_another_key():
    other = unique_tasks.ship.using(unique_key="mine")
    assert unique_tasks.ship.enqueue(7).id != other.enqueue(7).id
    assert other.enqueue(7).id == other.enqueue(8).id


def test_receivers_hear_only_of_what_was_stored():
    seen = []

    def receiver(sender, task_result, **kwargs):
        seen.append(task_result.id)

    compat.task_enqueued.connect(receiver, sender=LocQueueBackend)
    try:
        first = unique_tasks.ship.enqueue(7)
        unique_tasks.ship.enqueue(7)
        others = unique_tasks.ship.enqueue_many([((7,), {}), ((8,), {}), ((8,), {})])
    finally:
        compat.task_enqueued.disconnect(receiver, sender=LocQueueBackend)
    assert seen == [first.id, others[1].id]


# -- how long


def test_until_it_has_started_what_is_enqueued_later_is_a_new_task():
    first = unique_tasks.ship.enqueue(7)
    begin(first)
    assert not unique_tasks.ship.enqueue(7).is_duplicate


def test_until_it_has_finished_what_is_enqueued_while_it_runs_is_not():
    first = unique_tasks.settle.enqueue(7)
    begin(first)
    second = unique_tasks.settle.enqueue(7)
    assert (second.id, second.status) == (first.id, compat.TaskResultStatus.RUNNING)
    finish(first)
    assert not unique_tasks.settle.enqueue(7).is_duplicate


def test_a_window_lasts_though_the_task_has_ended():
    first = unique_tasks.report.enqueue()
    finish(first)
    second = unique_tasks.report.enqueue()
    assert (second.id, second.status) == (first.id, compat.TaskResultStatus.SUCCESSFUL)


@pytest.mark.parametrize(("seconds_ago", "is_over"), [(55, False), (60, True), (600, True)])
def test_a_window_is_counted_from_when_the_task_was_enqueued(seconds_ago, is_over):
    first = unique_tasks.report.enqueue()
    then = our_backend().store.now() - timedelta(seconds=seconds_ago)
    Task.objects.filter(pk=int(first.id)).update(enqueued_at=then)
    second = unique_tasks.report.enqueue()
    assert second.is_duplicate is not is_over
    if is_over:
        assert (row(first).unique_lock, row(second).unique_lock) == (None, row(first).unique_key)
        assert unique_tasks.report.enqueue().id == second.id


# -- the other ways


def test_raise_tells_which_task_holds_the_key():
    first = unique_tasks.invoice.enqueue(7)
    with pytest.raises(DuplicateTask, match=rf"invoice #{first.id} holds the unique key '.*order-7'") as caught:
        unique_tasks.invoice.enqueue(7)
    assert (caught.value.task_result.id, caught.value.task_result.is_duplicate) == (first.id, True)


def test_replace_gives_the_waiting_task_new_arguments():
    first = unique_tasks.render.enqueue("home", "old")
    second = unique_tasks.render.using(priority=5, metadata={"by": "ann"}).enqueue("home", "new")
    assert (second.id, second.args, second.task.priority) == (first.id, ["home", "new"], 5)
    stored = row(first)
    assert stored.args_kwargs == {"args": ["home", "new"], "kwargs": {}}
    assert (stored.metadata, stored.priority) == ({"by": "ann"}, 5)


def test_debounce_moves_the_time_of_the_waiting_task():
    soon, later = timezone.now() + timedelta(seconds=5), timezone.now() + timedelta(seconds=50)
    first = unique_tasks.index.using(run_after=soon).enqueue("home")
    second = unique_tasks.index.using(run_after=later).enqueue("home")
    assert (second.id, row(first).run_after, row(first).state) == (first.id, later, State.SCHEDULED)
    assert second.task.run_after == later


def test_debounce_takes_a_ready_task_back_and_lets_it_go():
    first = unique_tasks.index.enqueue("home")
    unique_tasks.index.using(run_after=timezone.now() + timedelta(hours=1)).enqueue("home")
    assert row(first).state == State.SCHEDULED
    unique_tasks.index.enqueue("home")
    assert row(first).state == State.READY


@pytest.mark.parametrize(
    ("state", "delayed", "left"),
    [("scheduled", False, "blocked"), ("blocked", True, "scheduled")],
    ids=["its turn", "later"],
)
def test_debounce_leaves_a_limited_task_where_it_waits_for_its_turn(state, delayed, left):
    first = unique_tasks.index.enqueue("home")
    Task.objects.filter(pk=int(first.id)).update(state=state, limit_key="c:shop")
    when = timezone.now() + timedelta(hours=1) if delayed else None
    unique_tasks.index.using(run_after=when).enqueue("home")
    assert row(first).state == left


def test_merge_extends_the_list_of_the_waiting_task():
    first = unique_tasks.sync.enqueue(1, [1, 2])
    second = unique_tasks.sync.enqueue(1, item_ids=[2, 3])
    assert (second.id, second.args) == (first.id, [1, [1, 2, 3]])
    assert row(first).args_kwargs == {"args": [1, [1, 2, 3]], "kwargs": {}}


@pytest.mark.parametrize("arguments", [(1, None), (1, "ab")])
def test_merge_wants_a_list_from_the_first_call_on(arguments):
    with pytest.raises(TypeError, match="Argument item_ids must be a list"):
        unique_tasks.sync.enqueue(*arguments)
    assert not Task.objects.exists()


@pytest.mark.parametrize("change", [begin, finish], ids=["runs", "has ended"])
def test_what_no_longer_waits_is_not_changed_and_the_call_takes_the_key_over(change):
    first = unique_tasks.sync_to_the_end.enqueue(1, [1])
    change(first)
    second = unique_tasks.sync_to_the_end.enqueue(1, [2])
    assert (second.is_duplicate, row(first).args_kwargs["args"]) == (False, [1, [1]])
    assert (row(first).unique_lock, row(second).unique_lock) == (None, row(first).unique_key)
    assert unique_tasks.sync_to_the_end.enqueue(1, [3]).args == [1, [2, 3]]


def test_a_row_whose_arguments_are_damaged_is_not_merged_into():
    first = unique_tasks.sync.enqueue(1, [1])
    Task.objects.filter(pk=int(first.id)).update(args_kwargs="damaged")
    assert not unique_tasks.sync.enqueue(1, [2]).is_duplicate


# -- many at once


def test_many_calls_get_their_results_in_order():
    waiting = unique_tasks.ship.enqueue(2)
    results = unique_tasks.ship.enqueue_many([((n,), {}) for n in (3, 2, 1, 3)])
    assert [result.args for result in results] == [[3], [2], [1], [3]]
    assert [result.is_duplicate for result in results] == [False, True, False, True]
    assert (results[1].id, results[3].id) == (waiting.id, results[0].id)
    assert int(results[0].id) < int(results[2].id)


def test_many_calls_without_a_conflict_are_few_statements(django_assert_max_num_queries):
    vendor = our_backend().store.connection.vendor
    calls = [((n,), {}) for n in range(50)]
    with django_assert_max_num_queries(104 if vendor == "mysql" else 4):
        unique_tasks.ship.enqueue_many(calls)
    assert Task.objects.count() == 50


def test_many_calls_that_are_all_held_are_few_statements(django_assert_max_num_queries):
    vendor = our_backend().store.connection.vendor
    calls = [((n,), {}) for n in range(50)]
    unique_tasks.ship.enqueue_many(calls)
    with django_assert_max_num_queries(104 if vendor == "mysql" else 8):
        assert all(result.is_duplicate for result in unique_tasks.ship.enqueue_many(calls))


def test_many_lists_are_merged_into_one_task():
    unique_tasks.sync.enqueue(1, [0])
    results = unique_tasks.sync.enqueue_many([((1, [n, n + 1]), {}) for n in range(5)])
    assert len({result.id for result in results}) == 1
    assert Task.objects.get().args_kwargs["args"] == [1, [0, 1, 2, 3, 4, 5]]


def test_one_held_key_of_many_raises_and_nothing_is_stored():
    unique_tasks.invoice.enqueue(7)
    with pytest.raises(DuplicateTask):
        unique_tasks.invoice.enqueue_many([((6,), {}), ((7,), {})])
    assert Task.objects.count() == 1


def test_of_equal_keys_among_many_the_last_arguments_replace():
    results = unique_tasks.render.enqueue_many([(("home", str(n)), {}) for n in range(3)])
    assert len({result.id for result in results}) == 1
    assert Task.objects.get().args_kwargs["args"] == ["home", "2"]


def test_of_many_what_takes_a_key_over_is_met_by_the_next():
    begin(unique_tasks.sync_to_the_end.enqueue(1, [0]))
    results = unique_tasks.sync_to_the_end.enqueue_many([((1, [n]), {}) for n in (1, 2)])
    assert [result.is_duplicate for result in results] == [False, True]
    assert row(results[0]).args_kwargs["args"] == [1, [1, 2]]


# -- beside other options


def test_the_calls_of_a_chunk_are_unique_by_the_names_that_they_pass():
    first = unique_tasks.locate_many.enqueue(prefix="203.0.113.0/24")
    results = unique_tasks.locate_many.enqueue_many(
        [((), {"prefix": prefix}) for prefix in ("203.0.113.0/24", "198.51.100.0/24")]
    )
    assert [result.is_duplicate for result in results] == [True, False]
    assert results[0].id == first.id


# -- put back by a person


def test_a_task_that_is_put_back_holds_its_key_again():
    first = unique_tasks.ship.enqueue(7)
    finish(first, State.FAILED)
    assert first.requeue()
    assert unique_tasks.ship.enqueue(7).id == first.id


def test_a_task_whose_key_another_holds_is_not_put_back():
    first = unique_tasks.ship.enqueue(7)
    finish(first, State.FAILED)
    second = unique_tasks.ship.enqueue(7)
    assert not first.requeue()
    assert (row(first).state, row(second).unique_lock) == (State.FAILED, row(first).unique_key)


def test_of_two_tasks_with_one_key_one_is_put_back():
    results = []
    for _ in range(2):
        results.append(unique_tasks.ship.enqueue(7))
        finish(results[-1], State.FAILED)
    other = tasks.add.enqueue(1)
    finish(other, State.FAILED)
    ids = [int(result.id) for result in (*results, other)]
    assert our_backend().store.requeue(ids) == [ids[0], ids[2]]
    assert row(results[1]).state == State.FAILED


def test_a_window_is_not_begun_anew_by_being_put_back():
    first = unique_tasks.report.enqueue()
    finish(first, State.FAILED)
    Task.objects.filter(pk=int(first.id)).update(unique_lock=None)
    second = unique_tasks.report.enqueue()
    assert first.requeue()
    assert row(second).unique_lock is not None
    assert row(first).unique_lock is None


# -- what is refused


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"unique": Unique("{nothing}")}, "names 'nothing', which is no argument of ship"),
        ({"unique": Unique("k", seconds=8 * 86_400)}, "seconds=.* RETENTION"),
        ({"unique": Unique("k", seconds=1), "keep_result": False}, "seconds .* keep_result"),
        ({"unique": "order-{order_id}"}, r"unique must be Unique\(\.\.\.\)"),
        ({"unique": Unique("k", on_conflict="merge")}, "is the list"),
        ({"unique": Unique("k", unique_items="note"), "rate_limit": "1/s"}, "unique_items .* rate_limit"),
    ],
)
def test_a_definition_that_cannot_be_unique_that_way_is_refused(options, problem):
    with pytest.raises(compat.InvalidTask, match=problem):
        task(**options)(unique_tasks.ship.func)


def test_a_state_that_is_forgotten_at_once_has_no_window(settings):
    settings.TASKS = {
        "default": {**settings.TASKS["default"], "OPTIONS": {"RETENTION": {"CANCELLED": 0}}},
    }
    with pytest.raises(compat.InvalidTask, match="RETENTION"):
        task(unique=Unique("k", seconds=1))(unique_tasks.ship.func)


def test_a_key_for_a_task_that_is_not_unique_is_refused():
    with pytest.raises(compat.InvalidTask, match="unique_key"):
        tasks.add.using(unique_key="k")


@pytest.mark.parametrize("key", [5, b"k", ""])
def test_a_key_that_is_no_text_is_refused(key):
    with pytest.raises(compat.InvalidTask, match="unique_key"):
        unique_tasks.ship.using(unique_key=key)


def test_a_unique_key_belongs_to_a_call_and_not_to_a_definition():
    with pytest.raises(TypeError, match=r"use \.using\(unique_key"):
        task(unique_key="k")(unique_tasks.ship.func)


def test_enqueueing_on_commit_checks_the_key_at_once(django_assert_num_queries):
    with django_assert_num_queries(0), pytest.raises(TypeError, match="order_id"):
        unique_tasks.ship.enqueue_on_commit()


def test_arguments_of_which_no_key_can_be_made_are_refused_before_any_statement(django_assert_num_queries):
    with django_assert_num_queries(0), pytest.raises(TypeError, match="order_id"):
        unique_tasks.ship.enqueue()
