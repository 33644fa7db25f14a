"""How many tasks are stored, as the database estimates it: counting them would read a whole table."""

import time
from typing import Any

from django.db import connections
from django.utils.formats import number_format
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from django_locqueue.models import Task
from django_locqueue.models.fields import queue_database

KEPT_SECONDS = 60
LEAST = 10_000  # fewer are counted by the list

_STATEMENTS = {
    "postgresql": "SELECT reltuples FROM pg_class WHERE oid = %s::regclass",
    "mysql": "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = %s",
}
_kept: dict[str, tuple[float, int]] = {}  # by alias: when it was asked, and the answer


def stored_note() -> str:
    """Return ``About 41.2 million tasks stored (estimate).``; nothing where the database has no estimate (SQLite)."""
    count = estimate(queue_database(Task))
    return _("About %(count)s tasks stored (estimate).") % {"count": about(count)} if count > LEAST else ""


def estimate(alias: str) -> int:
    """Return how many rows the table has by the database's statistics, at most a minute old; 0 if unknown."""
    asked, count = _kept.get(alias, (-KEPT_SECONDS, 0))
    if time.monotonic() - asked < KEPT_SECONDS:
        return count
    connection = connections[alias]
    statement = _STATEMENTS.get(connection.vendor)
    if statement is None:
        return 0
    with connection.cursor() as cursor:
        cursor.execute(statement, [Task._meta.db_table])
        row: Any = cursor.fetchone()
    count = int(row[0] or 0) if row else 0
    _kept[alias] = (time.monotonic(), count)
    return count


def about(count: int) -> str:
    """Return a large number as people say it: 41.2 million; in Chinese 4,120 万."""
    if (get_language() or "").startswith("zh"):
        units = ((100_000_000, "亿"), (10_000, "万"))
    else:
        units = ((1_000_000_000, _("billion")), (1_000_000, _("million")))
    for size, word in units:
        if count >= size:
            amount = count / size
            digits = 1 if amount < 100 else 0
            return f"{number_format(round(amount, digits), digits, force_grouping=True)} {word}"
    return number_format(round(count, -3), force_grouping=True)
