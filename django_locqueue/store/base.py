"""What every verb stands on: one connection, short transactions, and a retry for what the database asks to repeat."""

import random
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import wraps
from types import SimpleNamespace
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.db import Error, connections, models, transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Concat

from django_locqueue import clock
from django_locqueue.exceptions import Cancel
from django_locqueue.models import State, Task
from django_locqueue.models.task import TaskQuerySet
from django_locqueue.policies.outcome import class_path

P = ParamSpec("P")
R = TypeVar("R")

REPEAT_AFTER_SECONDS = (0.01, 0.05, 0.2, 0.5)


class StoreBase:
    """Holds no state but the alias, so that one object serves all threads; each thread has its own connection."""

    any_state_sql = "state || ''"  # matches no partial index, see `by_key`
    for_update = "FOR UPDATE"
    skip_locked = "FOR UPDATE SKIP LOCKED"

    def __init__(self, alias: str) -> None:
        self.alias = alias

    @property
    def connection(self) -> Any:
        return connections[self.alias]

    @property
    def tasks(self) -> TaskQuerySet:
        return TaskQuerySet(Task, using=self.alias)

    def transaction(self) -> AbstractContextManager[Any]:
        """Return a short transaction; a savepoint inside the caller's own."""
        return transaction.atomic(using=self.alias)

    def is_transient(self, error: Error) -> bool:
        """Whether the database asks to repeat the transaction: a deadlock's victim, a lock that was busy."""
        raise NotImplementedError

    def by_key(self, ids: Sequence[int], *states: str) -> TaskQuerySet:
        """Return those of the tasks that are in one of the states, found through the primary key.

        ``state || ''`` matches no partial index: to a planner that last saw nothing in that state its index looks
        free, and each statement would read all of it.
        """
        return self.tasks.filter(pk__in=ids).alias(any_state=any_state()).filter(any_state__in=states)

    def _delete_by(self, model: type[models.Model], column: str, ids: Sequence[Any], index: str) -> int:
        """Delete the rows whose column is among the ids. ``index``: of the column."""
        rows = model._default_manager.using(self.alias).filter(**{f"{column}__in": ids})
        return int(rows._raw_delete(self.alias))

    def fenced(self, task_id: int, claim_no: int) -> TaskQuerySet:
        """Return the task if this claim of it still runs."""
        return self.by_key([task_id], State.RUNNING).filter(claim_no=claim_no)

    def now(self) -> datetime:
        """Return the database's time."""
        row = self.fetch(f"SELECT {clock.now_sql(self.connection)}", ())[0]
        return self.load_time(row[0])

    def moment(self, now: datetime | None) -> datetime:
        """Return the given time, or the database's; :meth:`time` asks it within the statement."""
        return self.now() if now is None else clock.storable(now)

    # -- raw SQL: for the statements of the hot path, which the ORM would compile anew at each call

    def cursor(self) -> Any:
        return self.connection.cursor()

    def fetch(self, sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self.cursor() as cursor:
            cursor.execute(sql, params)
            return list(cursor.fetchall())  # mysqlclient gives a tuple

    def fetch_recursive(self, sql: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Run a skip scan, which takes a step for each of however many queues."""
        return self.fetch(sql, params)

    def now_sql(self, now: datetime | None) -> tuple[str, list[Any]]:
        """Return SQL and parameters of the given time, or of the database's clock."""
        if now is None:
            return clock.now_sql(self.connection), []
        return "%s", [self.dump_time(now)]

    def dump_time(self, value: datetime) -> Any:
        return self.connection.ops.adapt_datetimefield_value(clock.storable(value))

    @property
    def load_time(self) -> Callable[[Any], datetime]:
        """What makes a time of this database one of Django's. To be had once for many values."""
        connection = self.connection
        converters = connection.ops.get_db_converters(_TIME_COLUMN)

        def load(value: Any) -> Any:
            for convert in converters:
                value = convert(value, None, connection)
            return value

        return load

    @staticmethod
    def time(now: datetime | None) -> Any:
        """Return the given time, or the database's clock as an expression for the ORM."""
        return clock.DatabaseNow() if now is None else clock.storable(now)


def as_it_is(value: Any) -> Any:
    """Of times: the driver gives them as Django does."""
    return value


def any_state() -> Concat:
    """Return the state as an expression that matches no index, see `StoreBase.by_key`."""
    return Concat("state", Value(""))


def cancelled(reason: str, time: Any, error: type[BaseException] = Cancel) -> dict[str, Any]:
    """Return the changes of a task that is cancelled, but for those of its claim."""
    end = {"state": State.CANCELLED, "finished_at": time}
    return {**end, "error_class": class_path(error), "error_message": reason, **unlocked()}


def unlocked() -> dict[str, Any]:
    """Return the changes of an end that concern uniqueness: the lock is free again, but for a window."""
    return {"unique_lock": Case(When(unique_until="window", then=F("unique_lock")), default=Value(None))}


_TIME_COLUMN = SimpleNamespace(output_field=models.DateTimeField())


def repeated(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], R]:
    """Repeat a verb whose transaction the database gave up: the caller never sees a deadlock that we caused.

    Not inside the caller's transaction, where only the caller can repeat.
    """

    @wraps(verb)
    def run(store: Any, *args: P.args, **kwargs: P.kwargs) -> R:
        for seconds in REPEAT_AFTER_SECONDS:
            try:
                return verb(store, *args, **kwargs)
            except Error as error:
                if store.connection.in_atomic_block or not store.is_transient(error):
                    raise
            threading.Event().wait(seconds * random.uniform(0.5, 1.5))
        return verb(store, *args, **kwargs)

    return run  # type: ignore[return-value]
