"""An old snapshot, of a long report or a backup, keeps the dead rows of claimed tasks in the ready index."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from django_locqueue.store import Store
from django_locqueue.store.serve import Mark, Owner
from tests.store.plans import Statements
from tests.store.rows import put_many

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL keeps dead rows in its indexes"),
]

DEAD = 3000


@pytest.fixture
def old_snapshot() -> Iterator[None]:
    """Another session's transaction, which must go on seeing the table as it is now."""
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("SELECT count(*) FROM locqueue_task")
        yield
    other.close()


def blocks_read(claim: Any) -> int:
    """Return how many blocks the scan of the ready index touches in a claim, which is rolled back."""
    statements = Statements()
    with transaction.atomic():
        with connection.execute_wrapper(statements):
            claim()
        transaction.set_rollback(True)
    [(sql, params)] = [sent for sent in statements.sent if "WITH picked" in sent[0]]
    with transaction.atomic(), connection.cursor() as cursor:
        # What the planner chooses is another test's subject, and autovacuum may have given it statistics just now.
        for way in ("seqscan", "bitmapscan", "sort"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", params)
        [(plan,)] = cursor.fetchall()
        transaction.set_rollback(True)
    [scan] = [node for node in nodes(json.loads(plan) if isinstance(plan, str) else plan) if is_ready_scan(node)]
    return int(scan["Shared Hit Blocks"] + scan["Shared Read Blocks"])


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    match tree:
        case dict():
            yield tree
            for value in tree.values():
                yield from nodes(value)
        case list():
            for value in tree:
                yield from nodes(value)


def is_ready_scan(node: dict[str, Any]) -> bool:
    return node.get("Index Name") == "locqueue_task_ready"


def test_h6_a_claim_behind_a_mark_does_not_read_what_was_claimed_before(store: Store, owner: Owner, old_snapshot: None):
    """H6."""
    put_many(DEAD)
    last = store.claim(owner, DEAD)[-1]
    put_many(10)
    mark = Mark(last.priority, last.run_after, last.id)
    from_the_head = blocks_read(lambda: store.claim_from("default", owner, 5))
    behind_the_mark = blocks_read(lambda: store.claim_from("default", owner, 5, after=mark))
    assert from_the_head > DEAD / 150  # else nothing was shown: a block holds up to a hundred rows
    assert behind_the_mark < from_the_head / 2
