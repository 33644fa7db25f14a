"""Enqueue: what is stored, when it becomes visible, and at what price."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from django_locqueue.models import Task
from django_locqueue.policies import payload
from django_locqueue.store import Store
from tests import tasks
from tests.store.races import in_thread
from tests.store.rows import call, enqueue, row


def test_a_task_without_a_time_is_ready_at_once(store: Store):
    assert enqueue(store).state == "ready"


def test_a_task_whose_time_has_not_come_is_scheduled(store: Store):
    due = store.now() + timedelta(hours=1)
    enqueued = enqueue(store, run_after=due)
    assert (enqueued.state, enqueued.run_after) == ("scheduled", due)


def test_a_task_whose_time_has_passed_is_ready_and_keeps_its_time(store: Store):
    due = store.now() - timedelta(seconds=1)
    enqueued = enqueue(store, run_after=due)
    assert (enqueued.state, row(enqueued.id)["run_after"]) == ("ready", due)


@pytest.mark.parametrize("microsecond", [0, 1, 999_999])
def test_the_time_is_kept_to_the_microsecond(store: Store, microsecond: int):
    due = (store.now() + timedelta(hours=1)).replace(microsecond=microsecond)
    assert row(enqueue(store, run_after=due).id)["run_after"] == due


def test_what_is_returned_is_what_is_stored(store: Store):
    enqueued = enqueue(store)
    stored = row(enqueued.id)
    assert enqueued == (stored["id"], stored["state"], stored["run_after"], stored["enqueued_at"])


# The columns of options that most calls do not have.
RARE = {
    "unique_key": "",
    "unique_lock": None,
    "unique_until": "",
    "unique_seconds": None,
    "limit_key": None,
    "terms": None,
    "log": None,
    "unknown_since": None,
    "progress": None,
    "progress_message": "",
    "workflow_id": None,
    "step": 0,
    "error_group_id": None,
    "dismissed": False,
    "retried_by": "",
}


def test_every_part_of_the_call_is_stored(store: Store):
    stored = row(
        enqueue(
            store,
            task_path="shop.tasks.send_receipt",
            args_kwargs='{"args":[1],"kwargs":{"a":2}}',
            queue_name="mail",
            priority=-7,
            max_attempts=5,
            backend_alias="other",
            metadata='{"trace":"x"}',
        ).id
    )
    assert {column: stored[column] for column in stored if column not in ("id", "run_after", "enqueued_at")} == {
        "state": "ready",
        "queue_name": "mail",
        "priority": -7,
        "task_path": "shop.tasks.send_receipt",
        "backend_alias": "other",
        "args_kwargs": {"args": [1], "kwargs": {"a": 2}},
        "attempt": 0,
        "max_attempts": 5,
        "crashes": 0,
        "claim_no": 0,
        "worker_id": None,
        "worker_ids": "",
        "started_at": None,
        "last_attempted_at": None,
        "finished_at": None,
        "return_value": None,
        "error_class": "",
        "error_message": "",
        "metadata": {"trace": "x"},
        "cancel_requested": False,
        "cancel_reason": "",
        **RARE,
    }


EXTRA = {
    "unique_key": "shop:ünïque\t\\",
    "unique_lock": None,
    "unique_until": "window",
    "unique_seconds": 1.5,
    "limit_key": "c:shop-1",
    "terms": '{"concurrency":1}',
    "workflow_id": 2**40,
    "step": 3,
}


@pytest.mark.parametrize("count", [1, 3, 150])  # alone, by INSERT, by COPY where there is one
def test_extra_columns_are_stored_with_each_call(store: Store, count: int):
    enqueued = store.enqueue_many(
        [call(turn="blocked", extra=tuple({**EXTRA, "unique_lock": str(n)}.items())) for n in range(count)]
    )
    for number, each in enumerate(enqueued):
        stored = row(each.id)
        assert {column: stored[column] for column in EXTRA} == {**EXTRA, "unique_lock": str(number)}
        assert each.state == stored["state"] == "blocked"


def test_a_delayed_call_is_scheduled_whatever_its_turn(store: Store):
    due = store.now() + timedelta(hours=1)
    assert enqueue(store, turn="blocked", extra=(("limit_key", "c:1"),), run_after=due).state == "scheduled"


def test_one_enqueue_is_one_statement(store: Store):
    with CaptureQueriesContext(connection) as queries:
        enqueue(store)
    if connection.features.can_return_rows_from_bulk_insert:
        assert len(queries) == 1
    else:  # MySQL has no INSERT ... RETURNING, so the times are read back
        assert sum(query["sql"].startswith("INSERT") for query in queries) == 1


@pytest.mark.parametrize(("count", "statements"), [(0, 0), (1, 1), (999, 1), (1000, 1), (2500, 3)])
def test_many_are_stored_in_order_by_few_statements(store: Store, count: int, statements: int):
    with CaptureQueriesContext(connection) as queries:
        enqueued = store.enqueue_many([call(queue_name=f"queue {number}") for number in range(count)])
    names = dict(Task.objects.values_list("pk", "queue_name"))
    assert [names[each.id] for each in enqueued] == [f"queue {number}" for number in range(count)]
    assert [each.id for each in enqueued] == sorted(names)
    wanted = min(statements, 1) if connection.vendor == "postgresql" else statements  # COPY takes any number
    assert sum(query["sql"].lstrip().startswith(("INSERT", "COPY")) for query in queries) == wanted


@pytest.mark.parametrize("count", [1, 150])
def test_a_whole_number_of_any_type_is_a_priority(store: Store, count: int):
    priority: Any = 5.0
    results = tasks.add.using(priority=priority).enqueue_many([((number,), {}) for number in range(count)])
    assert [row(int(result.id))["priority"] for result in results] == [5] * count


def test_many_keep_every_value_to_the_character(store: Store):
    hostile = "\\N \\ \\\\. \t \n \r \x0b 界 \\."
    far = store.now() + timedelta(days=9999)
    calls = [
        call(args_kwargs=payload.dump_call([hostile, number], {}), metadata=payload.dump({"a": hostile}), run_after=far)
        for number in range(150)
    ]
    calls += [call(args_kwargs="\\.", backend_alias=hostile, priority=-100, max_attempts=9) for _ in range(3)]
    stored = store.enqueue_many(calls)
    rows = {task.pk: task for task in Task.objects.all()}
    assert [rows[each.id].args_kwargs for each in stored[:150]] == [
        {"args": [hostile, number], "kwargs": {}} for number in range(150)
    ]
    assert {(rows[each.id].state, str(rows[each.id].metadata)) for each in stored[:150]} == {
        ("scheduled", str({"a": hostile}))
    }
    for each in stored[150:]:
        row = rows[each.id]
        assert (row.args_kwargs, row.backend_alias, row.priority, row.max_attempts) == ("\\.", hostile, -100, 9)
    for each in stored:
        row = rows[each.id]
        assert (row.state, row.run_after, row.enqueued_at) == (each.state, each.run_after, each.enqueued_at)


def test_many_may_differ_in_their_times(store: Store):
    due = store.now() + timedelta(hours=1)
    enqueued = store.enqueue_many([call(run_after=due), call(), call(run_after=due - timedelta(hours=2))])
    assert [each.state for each in enqueued] == ["scheduled", "ready", "ready"]


@pytest.mark.django_db(transaction=True)
def test_many_are_stored_all_or_none(store: Store):
    calls = [call() for _ in range(1500)]
    calls[1400] = call(task_path=None)
    with pytest.raises(IntegrityError):
        store.enqueue_many(calls)
    assert Task.objects.count() == 0


# -- transactions


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_transaction_leaves_no_task(store: Store):
    with transaction.atomic():
        enqueue(store)
        transaction.set_rollback(True)
    assert Task.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_savepoint_leaves_only_the_outer_task(store: Store):
    with transaction.atomic():
        outer = enqueue(store)
        with transaction.atomic():
            enqueue(store)
            transaction.set_rollback(True)
    assert list(Task.objects.values_list("pk", flat=True)) == [outer.id]


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_transaction_leaves_none_of_many(store: Store):
    with transaction.atomic():
        store.enqueue_many([call() for _ in range(1500)])
        transaction.set_rollback(True)
    assert Task.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_nobody_sees_a_task_before_the_commit(store: Store):
    with transaction.atomic():
        enqueue(store)
        assert in_thread(Task.objects.count) == 0
    assert in_thread(Task.objects.count) == 1


@pytest.mark.django_db(transaction=True)
def test_nobody_claims_a_task_before_the_commit(store: Store):
    with transaction.atomic():
        enqueue(store)
        assert in_thread(lambda: store.look().heads) == []
    assert [name for name, *_ in in_thread(lambda: store.look().heads)] == ["default"]


# -- MySQL proper, which has no RETURNING: the ids of a statement are worked out


@pytest.fixture
def without_returning(monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    if connection.vendor != "mysql":
        pytest.skip("MySQL and MariaDB only")
    monkeypatch.setattr(type(connection.features), "can_return_rows_from_bulk_insert", False)


@pytest.mark.parametrize("step", [1, 7])
def test_every_call_gets_its_own_id_however_far_apart_they_are(store: Store, without_returning: None, step: int):
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION auto_increment_increment = %s", [step])
    try:
        stored = store.enqueue_many([call(priority=number) for number in range(5)])
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION auto_increment_increment = DEFAULT")
    assert [Task.objects.get(pk=each.id).priority for each in stored] == [0, 1, 2, 3, 4]
    assert stored[1].id - stored[0].id == step


def test_what_cannot_be_found_again_is_not_stored(store: Store, without_returning: None):
    def lie(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        return execute(sql.replace("LAST_INSERT_ID()", "LAST_INSERT_ID() + 1000"), params, many, context)

    with connection.execute_wrapper(lie), pytest.raises(RuntimeError, match="found 0 of them"):
        store.enqueue_many([call(), call()])
    assert not Task.objects.exists()
