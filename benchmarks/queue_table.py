"""The product's table of tasks: filled by its public calls or by SQL, and read for the rate."""

from datetime import UTC, datetime
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Count, Max, Min, Q

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
            definition.enqueue(0)
            self.copy(count - 1, Q(task_path=definition.module_path))
            return
        for start in range(0, count, BATCH):
            definition.enqueue_many([((number,), {}) for number in range(start, min(start + BATCH, count))])

    def copy(self, count: int, one: Q | None = None) -> None:
        """Insert copies of a row, the only one if none is named."""
        if count <= 0:
            return
        template = self.rows.filter(one or Q()).order_by("-pk").values_list("pk", flat=True)[0]
        table, key = self.model._meta.db_table, self.model._meta.pk
        values = {field.column: f"t.{field.column}" for field in self.model._meta.concrete_fields if field != key}
        if connection.vendor in self.product.new_key:
            values[key.column] = self.product.new_key[connection.vendor]
        self._execute(
            f"INSERT INTO {table} ({', '.join(values)}) "  # noqa: S608
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %s) "
            f"SELECT {', '.join(values.values())} FROM {table} t, n WHERE t.{key.column} = %s",
            [count, key.get_db_prep_value(template, connection)],
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
        last: datetime | None = self.rows.aggregate(last=Max("finished_at"))["last"]
        return last or LONG_AGO

    def has_finished(self, after: datetime = LONG_AGO) -> bool:
        found: bool = self.rows.filter(finished_at__gt=after).exists()
        return found

    def finished(self, after: datetime, until: datetime) -> int:
        count: int = self.rows.filter(finished_at__gt=after, finished_at__lte=until).count()
        return count

    def rate(self, after: datetime = LONG_AGO) -> float:
        """Return tasks a second as the rows tell it, from the first that finished to the last.

        Those with the first time are not counted, since what they took lies before it. Raises RuntimeError if that
        leaves nothing.
        """
        done = self.rows.filter(finished_at__gt=after)
        ends = done.aggregate(first=Min("finished_at"), last=Max("finished_at"))
        if ends["first"] == ends["last"]:
            raise RuntimeError(f"A rate needs tasks that finished at different times; the rows have {ends['first']}.")
        counted = done.aggregate(count=Count("pk", filter=Q(finished_at__gt=ends["first"])))["count"]
        rate: float = counted / (ends["last"] - ends["first"]).total_seconds()
        return rate

    def _execute(self, sql: str, params: Any = None) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
