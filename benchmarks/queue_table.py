"""The product's table of tasks: filled by its public calls or by SQL, and read for the rate."""

from datetime import UTC, datetime
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Count, Max, Min

from benchmarks.models import Entry
from benchmarks.product import Product

BATCH = 1000
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


class QueueTable:
    def __init__(self, product: Product) -> None:
        self.product = product
        self.model: Any = apps.get_model(product.model)
        self.rows = self.model._default_manager

    def empty(self) -> None:
        for model in (self.model, Entry):
            table = model._meta.db_table
            self._execute(
                f"TRUNCATE {table} CASCADE" if connection.vendor == "postgresql" else f"DELETE FROM {table}"  # noqa: S608
            )

    def fill(self, definition: Any, count: int) -> None:
        """Enqueue that many calls: in bulk, or the first one and copies of it where there is no such call."""
        if not self.product.has_bulk:
            self.copy(definition.enqueue(0), count - 1)
            return
        for start in range(0, count, BATCH):
            definition.enqueue_many([((number,), {}) for number in range(start, min(start + BATCH, count))])

    def copy(self, result: Any, count: int) -> None:
        """Insert that many copies of a result's row."""
        table, key = self.model._meta.db_table, self.model._meta.pk
        values = {field.column: f"t.{field.column}" for field in self.model._meta.concrete_fields if field != key}
        if connection.vendor in self.product.new_key:
            values[key.column] = self.product.new_key[connection.vendor]
        self._execute(
            f"INSERT INTO {table} ({', '.join(values)}) "  # noqa: S608
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= %s) "
            f"SELECT {', '.join(values.values())} FROM {table} t, n WHERE n.i > 1 AND t.{key.column} = %s",
            [count, key.get_db_prep_value(result.id, connection)],
        )

    def settle(self) -> None:
        """What autovacuum and the checkpointer would do soon, now: no run pays for the filling of its table."""
        if connection.vendor == "postgresql":
            statements = ["VACUUM ANALYZE", "CHECKPOINT"]
        else:
            statements = ["ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"]
        for statement in statements:
            self._execute(statement)

    def last_finished(self) -> datetime:
        last: datetime | None = self._succeeded().aggregate(last=Max("finished_at"))["last"]
        return last or LONG_AGO

    def has_finished(self, after: datetime = LONG_AGO) -> bool:
        found: bool = self._succeeded().filter(finished_at__gt=after).exists()
        return found

    def finished(self, after: datetime, until: datetime) -> int:
        count: int = self._succeeded().filter(finished_at__gt=after, finished_at__lte=until).count()
        return count

    def rate(self, after: datetime = LONG_AGO, expected: int | None = None) -> float:
        """Return tasks a second as the rows tell it, from the first that succeeded to the last.

        Those with the first time are not counted, since what they took lies before it. Raises RuntimeError if that
        leaves nothing, or if it is not as many as expected that succeeded.
        """
        done = self._succeeded().filter(finished_at__gt=after)
        ends = done.aggregate(first=Min("finished_at"), last=Max("finished_at"), all=Count("pk"))
        if expected not in (None, ends["all"]):
            raise RuntimeError(f"{expected} tasks should have succeeded, and {ends['all']} did.")
        if ends["first"] == ends["last"]:
            raise RuntimeError(f"A rate needs tasks that finished at different times; the rows have {ends['first']}.")
        counted = done.filter(finished_at__gt=ends["first"]).count()
        rate: float = counted / (ends["last"] - ends["first"]).total_seconds()
        return rate

    def _succeeded(self) -> Any:
        return self.rows.filter(**self.product.succeeded)

    def _execute(self, sql: str, params: Any = None) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
