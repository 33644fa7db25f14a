"""Unique items: a list argument is trimmed to what no waiting task of its key has."""

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from django_locqueue.models import State, Task, UniqueItem
from django_locqueue.policies.outcome import Kind
from django_locqueue.store.serve import Owner
from django_locqueue.store.unique import FreeingItems
from django_locqueue.worker.async_executor import AsyncExecutor
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor
from tests import unique_tasks
from tests.running import claim_next, our_backend, row, run_next
from tests.store.rows import outcome

pytestmark = pytest.mark.django_db


def held():
    return UniqueItem.objects.count()


def test_a_list_is_trimmed_to_what_no_waiting_task_has():
    first, second = unique_tasks.fetch.enqueue(1, [1, 2]), unique_tasks.fetch.enqueue(1, [2, 3, 1, 4])
    assert (second.args, second.is_duplicate) == ([1, [3, 4]], False)
    assert row(second).args_kwargs["args"] == [1, [3, 4]]
    assert row(first).args_kwargs["args"] == [1, [1, 2]]


def test_a_list_of_which_nothing_is_left_is_not_stored():
    first = unique_tasks.fetch.enqueue(1, [1, 2])
    unique_tasks.fetch.enqueue(1, [3])
    again = unique_tasks.fetch.enqueue(1, [2, 3])
    assert (again.id, again.is_duplicate) == (first.id, True)
    assert Task.objects.count() == 2


def test_an_item_that_a_list_has_twice_is_enqueued_once():
    assert unique_tasks.fetch.enqueue(1, [2, 1, 2]).args == [1, [2, 1]]


def test_items_of_another_key_are_others():
    unique_tasks.fetch.enqueue(1, [1])
    assert unique_tasks.fetch.enqueue(2, [1]).args == [2, [1]]


def test_what_json_tells_apart_is_told_apart():
    items = [1, "1", True, None, [1], {"a": 1, "b": 2}]
    unique_tasks.fetch.enqueue(1, items)
    assert unique_tasks.fetch.enqueue(1, [1.5, False, {"b": 2, "a": 1}]).args == [1, [1.5, False]]


def test_an_empty_list_is_a_task_like_any_other():
    assert [unique_tasks.fetch.enqueue(1, []).is_duplicate for _ in range(2)] == [False, False]


def test_a_list_by_name_is_trimmed_too():
    unique_tasks.fetch.enqueue(1, [1])
    assert unique_tasks.fetch.enqueue(shop_id=1, item_ids=[1, 2]).kwargs == {"shop_id": 1, "item_ids": [2]}


def test_many_lists_are_trimmed_by_each_other():
    unique_tasks.fetch.enqueue(1, [1])
    results = unique_tasks.fetch.enqueue_many([((1, [1, 2]), {}), ((1, [2, 3]), {}), ((1, [3, 1]), {})])
    assert [result.args for result in results] == [[1, [2]], [1, [3]], [1, [3]]]
    assert [result.is_duplicate for result in results] == [False, False, True]


def test_the_rows_of_items_are_few_statements(django_assert_max_num_queries):
    with django_assert_max_num_queries(8):
        unique_tasks.fetch.enqueue(1, list(range(900)))
    assert held() == 900


def test_a_list_longer_than_a_statement_takes_is_trimmed():
    unique_tasks.fetch.enqueue(1, list(range(0, 5000, 2)))
    assert unique_tasks.fetch.enqueue(1, list(range(5000))).args[1] == list(range(1, 5000, 2))


def test_other_terms_of_a_task_stay():
    call = {"args": [1, [1]], "kwargs": {}}
    result = unique_tasks.fetch.enqueue(*call["args"])
    assert row(result).terms == '{"unique_items":true}'
    assert (row(result).unique_key, row(result).unique_lock) == ("tests.unique_tasks.fetch:shop-1", None)


@pytest.mark.parametrize("value", [None, "ab", {"a": 1}])
def test_what_is_no_list_is_refused_by_name(value):
    with pytest.raises(TypeError, match="Argument item_ids must be a list"):
        unique_tasks.fetch.enqueue(1, value)
    assert not Task.objects.exists()


# -- when items are free again


def claimed():
    worker = our_backend().store.register_worker("w", lease=60)
    [task] = our_backend().store.claim(Owner(worker.pk, worker.name), 1)
    return task


def test_a_claimed_task_holds_its_items_until_it_begins():
    unique_tasks.fetch.enqueue(1, [1])
    task = claimed()
    assert unique_tasks.fetch.enqueue(1, [1]).is_duplicate
    our_backend().store.free_items(task.id)
    assert not unique_tasks.fetch.enqueue(1, [1]).is_duplicate


@pytest.mark.parametrize("kind", [Kind.CANCELLED, Kind.FAILED])
def test_a_claimed_task_that_ends_without_a_run_frees_its_items(kind):
    unique_tasks.fetch.enqueue(1, [1])
    our_backend().store.ack([(claimed(), outcome(kind))])
    assert not held()


def test_a_task_that_is_given_back_unrun_holds_its_items():
    unique_tasks.fetch.enqueue(1, [1])
    our_backend().store.release([claimed()])
    assert unique_tasks.fetch.enqueue(1, [1]).is_duplicate


def test_a_cancelled_task_frees_its_items():
    result = unique_tasks.fetch.enqueue(1, [1])
    result.cancel()
    assert not held()


def test_a_deleted_task_frees_its_items():
    result = unique_tasks.fetch.enqueue(1, [1])
    our_backend().store.delete([int(result.id)])
    assert not held()


def test_an_item_that_a_call_has_taken_over_meanwhile_does_not_go_with_the_task_that_had_it(monkeypatch):
    first, second = unique_tasks.fetch.enqueue(1, [1]), unique_tasks.fetch.enqueue(1, [2])
    store, locked = our_backend().store, FreeingItems._locked_items

    def meanwhile(*args):
        UniqueItem.objects.filter(task_id=int(first.id)).update(task_id=int(second.id))
        return locked(*args)

    monkeypatch.setattr(FreeingItems, "_locked_items", meanwhile)
    store.free_items(int(first.id))
    store.delete([int(first.id)])
    assert set(UniqueItem.objects.values_list("task_id", flat=True)) == {int(second.id)}
    assert held() == 2


def test_a_task_that_died_too_often_before_it_began_frees_its_items():
    unique_tasks.fetch.enqueue(1, [1])
    task = claimed()
    our_backend().store.stop_worker(Task.objects.get(pk=task.id).worker_id)
    [rescued] = our_backend().store.rescue(max_crashes=1)
    assert (rescued.state, held()) == (State.FAILED, 0)


def test_a_task_that_was_rescued_before_it_began_holds_its_items():
    unique_tasks.fetch.enqueue(1, [1])
    task = claimed()
    our_backend().store.stop_worker(Task.objects.get(pk=task.id).worker_id)
    our_backend().store.rescue(max_crashes=3)
    assert unique_tasks.fetch.enqueue(1, [1]).is_duplicate


@pytest.mark.parametrize("state", [State.CANCELLED, State.SUCCESSFUL, None])
def test_what_a_task_left_that_sql_has_ended_is_kept_from_nobody(state):
    first = unique_tasks.fetch.enqueue(1, [1])
    rows = Task.objects.filter(pk=int(first.id))
    rows._raw_delete("default") if state is None else rows.update(state=state)
    second = unique_tasks.fetch.enqueue(1, [1, 2])
    assert second.args == [1, [1, 2]]
    assert set(UniqueItem.objects.values_list("task_id", flat=True)) == {int(second.id)}


@pytest.mark.django_db(transaction=True)
def test_the_items_are_free_when_the_function_runs():
    first = unique_tasks.fetch.enqueue(1, [1])
    run_next()
    assert (row(first).state, row(first).return_value) == (State.SUCCESSFUL, [1])
    assert not held()
    assert not unique_tasks.fetch.enqueue(1, [1]).is_duplicate


@pytest.mark.django_db(transaction=True)
async def test_the_items_of_an_async_task_are_freed_off_the_event_loop():
    await unique_tasks.fetch_async.aenqueue(1, [1])
    execution = Execution(await sync_to_async(claim_next)())
    executor = Executor(our_backend())
    await AsyncExecutor(executor, executor).run(execution)
    assert execution.outcome.return_value == "[1]"
    assert not await sync_to_async(held)()
    await sync_to_async(connections.close_all)()


@pytest.mark.django_db(transaction=True)
def test_a_task_that_is_tried_again_holds_nothing():
    first = unique_tasks.fetch.enqueue(1, [1], fail=True)
    run_next()
    assert row(first).state == State.SCHEDULED
    assert not unique_tasks.fetch.enqueue(1, [1]).is_duplicate


# -- against a model


steps = st.lists(
    st.one_of(
        st.tuples(st.just("enqueue"), st.integers(1, 2), st.lists(st.integers(0, 5), min_size=1, max_size=5)),
        st.tuples(st.just("begin"), st.integers(0, 5), st.none()),
        st.tuples(st.just("cancel"), st.integers(0, 5), st.none()),
    ),
    max_size=12,
)


@given(steps)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_waiting_tasks_of_a_key_never_share_an_item_and_none_is_lost(steps):
    store = our_backend().store
    Task.objects.all().delete()
    UniqueItem.objects.all().delete()
    waiting: dict[int, tuple[int, list[int]]] = {}  # by id: shop and items
    for verb, number, items in steps:
        if verb == "enqueue":
            taken = {item for shop, has in waiting.values() if shop == number for item in has}
            left = list(dict.fromkeys(item for item in items if item not in taken))
            result = unique_tasks.fetch.enqueue(number, items)
            assert result.is_duplicate == (not left)
            if left:
                waiting[int(result.id)] = (number, left)
            else:
                assert items[0] in waiting[int(result.id)][1]
        elif waiting:
            task_id = list(waiting)[number % len(waiting)]
            del waiting[task_id]
            if verb == "cancel":
                store.cancel([task_id])
            else:
                store.free_items(task_id)
                Task.objects.filter(pk=task_id).update(state=State.RUNNING)
    stored = {task.pk: tuple(task.args_kwargs["args"]) for task in Task.objects.pending()}
    assert stored == waiting
    assert held() == sum(len(items) for _, items in waiting.values())


merges = st.lists(
    st.tuples(st.sampled_from(["merge", "merge", "claim"]), st.lists(st.integers(0, 5), max_size=4)), max_size=10
)


@given(merges)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
def test_merged_lists_are_those_of_a_model(steps):
    Task.objects.all().delete()
    claimed_lists, model, waiting = [], [], None
    for verb, items in steps:
        if verb == "merge":
            unique_tasks.sync.enqueue(1, items)
            if waiting is None:
                waiting = list(items)
            else:
                waiting += [item for item in dict.fromkeys(items) if item not in waiting]
        elif waiting is not None:
            claimed_lists.append(Task.objects.get(pk=claim_next().id).args_kwargs["args"][1])
            model.append(waiting)
            waiting = None
    assert claimed_lists == model
    assert [task.args_kwargs["args"][1] for task in Task.objects.pending()] == ([] if waiting is None else [waiting])
