"""Rows for the store's tests: how they get into the table, and what is known of one."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection

from django_locqueue.models import Task, TaskAttempt, Worker
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from django_locqueue.store import Call, Claimed, Enqueued, Store
from django_locqueue.store.serve import Owner

NOW = datetime(2026, 3, 4, 5, 6, 7, 891011, tzinfo=UTC)  # what tests pass as `now=`
PATH = "shop.tasks.send"
EMPTY_CALL = '{"args":[],"kwargs":{}}'
ERROR = ErrorReport("builtins.ValueError", "no such order", "Traceback …\nValueError: no such order\n")


def ago(**units: float) -> datetime:
    return NOW - timedelta(**units)


def later(**units: float) -> datetime:
    return NOW + timedelta(**units)


def call(**changes: Any) -> Call:
    return Call(**{"task_path": PATH, "args_kwargs": EMPTY_CALL, **changes})


def enqueue(store: Store, **changes: Any) -> Enqueued:
    return store.enqueue(call(**changes))


def put(state: str = "ready", **columns: Any) -> int:
    """Insert a row as it would stand after some life of its own, and return its id."""
    task = Task(state=state, **{"task_path": PATH, "args_kwargs": {"args": [], "kwargs": {}}, **columns})
    task.save(force_insert=True)
    return task.pk


def put_many(count: int, state: str = "ready", **columns: Any) -> None:
    """Insert that many rows alike: one, which the database doubles."""
    first, made = put(state, **columns), 1
    names = ", ".join(connection.ops.quote_name(f.attname) for f in Task._meta.concrete_fields if not f.primary_key)
    with connection.cursor() as cursor:
        while made < count:
            cursor.execute(
                f"INSERT INTO locqueue_task ({names}) SELECT {names} FROM locqueue_task WHERE id >= %s LIMIT %s",
                [first, count - made],
            )
            made = min(2 * made, count)


def waiting_since(moment: datetime) -> dict[str, datetime]:
    """Return the columns of a task that could be claimed from then on."""
    return {"run_after": moment, "enqueued_at": moment}


def row(pk: int) -> dict[str, Any]:
    """Return all columns of a task."""
    values: dict[str, Any] = Task.objects.filter(pk=pk).values().get()
    return values


def state(pk: int) -> str | None:
    """Return the state a task is in; None: it is gone."""
    found: str | None = Task.objects.filter(pk=pk).values_list("state", flat=True).first()
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that differ, with their new values."""
    return {column: value for column, value in after.items() if value != before[column]}


def attempts(pk: int) -> list[dict[str, Any]]:
    return list(TaskAttempt.objects.filter(task_id=pk).order_by("id").values())


def claim_one(store: Store, owner: Owner, **options: Any) -> Claimed:
    (task,) = store.claim(owner, 1, **options)
    return task


def running(store: Store, owner: Owner, **changes: Any) -> Claimed:
    """Enqueue a task into a queue of its own and claim it."""
    enqueued = enqueue(store, queue_name="own", **changes)
    (task,) = store.claim(owner, 1, queues=["own"], now=ago(seconds=10))
    assert task.id == enqueued.id
    return task


def outcome(kind: Kind, **options: Any) -> Outcome:
    """Return an outcome as a worker would report it."""
    if kind in (Kind.FAILED, Kind.RETRIED, Kind.CANCELLED):
        options.setdefault("error", ERROR)
    if kind is Kind.SUCCESSFUL:
        options.setdefault("return_value", '"done"')
    return Outcome(kind, **options)


def owner_of(worker: Worker) -> Owner:
    return Owner(worker.pk, worker.name)
