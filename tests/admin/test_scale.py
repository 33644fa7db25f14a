"""Pages beside a million tasks. What decides is not time, which is the machine's, but the steps that SQLite takes."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from django_locqueue.models import ErrorGroup, Queue, Task, Worker
from tests.admin.test_cost import queries_of

pytestmark = pytest.mark.any_vendor

ROWS = 1_000_000
# A look over all the rows of a table takes ten steps a row, and a look at 100,000 of them with four conditions less.
MOST_STEPS = 6_000_000
STEPS = 1_000  # between two looks at how many there were

QUERIES = (
    "pendingtask/",
    "pendingtask/?tab=scheduled",
    "pendingtask/?tab=scheduled&due=later",
    "pendingtask/?tab=overdue&q=gone",
    "runningtask/",
    "failedtask/",
    "failedtask/?behind=700000",
    "failedtask/?group=f1",
    "failedtask/?queue=gone&task=shop.gone&worker=gone",
    "failedtask/?q=queue:gone",
    "failedtask/?tab=dismissed",
    "failedtask/errors/",
    "failedtask/tasks/",
    "retriedtask/",
    "retriedtask/?tab=succeeded",
    "retriedtask/?tab=all",
    "task/",
    "task/?last=all",
    "task/?last=all&state=cancelled",
    "task/?last=all&worker=gone&error=gone",
)

# Of ten tasks one failed, one waits, one is scheduled, and seven succeeded, each fifth of these on a second try.
FILL = """
INSERT INTO locqueue_task ({columns})
WITH RECURSIVE numbered(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbered WHERE n < {rows})
SELECT {values} FROM numbered
"""


@pytest.fixture
def a_million(db: None) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("counts SQLite's steps")
    moment = "'2026-01-01 00:00:0' || (n % 10) || '.' || SUBSTR('000000' || n, -6)"
    ended = "n % 10 NOT IN (1, 2)"
    values = {
        "state": "CASE n % 10 WHEN 0 THEN 'failed' WHEN 1 THEN 'ready' WHEN 2 THEN 'scheduled' ELSE 'successful' END",
        "queue_name": "CASE n % 3 WHEN 0 THEN 'mail' ELSE 'default' END",
        "priority": "n % 5",
        "run_after": moment,
        "enqueued_at": moment,
        "finished_at": f"CASE WHEN {ended} THEN {moment} END",
        "task_path": "'shop.tasks.send'",
        "args_kwargs": """'{"args":[],"kwargs":{}}'""",
        "attempt": f"CASE WHEN {ended} THEN 1 + (n % 5 = 0) ELSE 0 END",
        "worker_ids": "'web-1:1' || CHAR(10)",
        "error_group_id": "CASE n % 10 WHEN 0 THEN 'f' || (n % 30) END",
    }
    others = [field for field in Task._meta.concrete_fields if field.column not in values and not field.primary_key]
    given = {str(field.column): field.get_default() for field in others}
    names = ", ".join((*values, *given))
    with connection.cursor() as cursor:
        chosen = ", ".join((*values.values(), *("%s" for _ in given)))
        cursor.execute(
            FILL.format(columns=names, rows=ROWS, values=chosen.replace("%", "%%").replace("%%s", "%s")),
            [field.get_db_prep_save(given[str(field.column)], connection) for field in others],
        )
    for number in range(30):
        ErrorGroup.objects.create(fingerprint=f"f{number}", error_class="builtins.OSError")
    Queue.objects.create(name="default")
    Worker.objects.create(name="web-1:1")


@contextmanager
def counted_steps() -> Iterator[list[int]]:
    steps = [0]

    def count() -> int:
        steps[0] += STEPS
        return 0

    connection.connection.set_progress_handler(count, STEPS)
    try:
        yield steps
    finally:
        connection.connection.set_progress_handler(None, STEPS)


def test_each_list_takes_few_queries_and_looks_at_few_rows(root: Client, a_million: None, kept_snapshot: Any) -> None:
    taken: dict[str, tuple[int, int]] = {}
    for query in QUERIES:
        with counted_steps() as steps:
            taken[query] = len(queries_of(root, f"/admin/locqueue/{query}")), steps[0]
    most = {query: 8 + ("behind" in query) for query in QUERIES}  # one for the row that the page goes on behind
    assert {query: found for query, found in taken.items() if found[0] > most[query] or found[1] > MOST_STEPS} == {}
