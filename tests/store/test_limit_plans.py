"""However many tasks wait for their turn, nobody pays for it: neither plain claims, nor those of limited tasks.

The tables are full when they were analysed while empty, never, or just now.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from django_locqueue.models import Limit, Queue, Task
from django_locqueue.store import Store, store_for
from django_locqueue.store.census import Census
from django_locqueue.store.lines import Line
from django_locqueue.store.selection import Selection
from django_locqueue.store.serve import Mark, Owner
from tests.store.limited import blocked_many
from tests.store.plans import forget_statistics, plan_of, plans
from tests.store.rows import NOW, ago, put_many
from tests.store.test_plans import SCANS, cheap

pytestmark = pytest.mark.django_db

BLOCKED = 100_000
OWNER = Owner(1, "w")


@pytest.fixture(scope="module", params=["analysed while empty", "never analysed", "analysed when full"])
def filled(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> Any:
    if connection.vendor == "mysql" and request.param != "never analysed":
        pytest.skip("MySQL and MariaDB keep statistics of their own")
    with django_db_blocker.unblock():
        _empty()
        if request.param == "analysed while empty":
            _analyse()
        with transaction.atomic():
            put_many(500, "successful", finished_at=ago(days=1), limit_key="c:shop-1")
            put_many(500, "running", worker_id=9)
            put_many(100, "ready", run_after=ago(hours=1))
            for number in range(25):
                blocked_many(125, f"shop-{number}", queue_name=f"queue {number % 2}")
            columns = ", ".join(str(f.column) for f in Task._meta.concrete_fields if not f.primary_key)
            with connection.cursor() as cursor:
                for _ in range(5):  # 3,125 rows, doubled
                    cursor.execute(
                        f"INSERT INTO locqueue_task ({columns}) "
                        f"SELECT {columns} FROM locqueue_task WHERE state = 'blocked'"
                    )
            Limit.objects.bulk_create([Limit(key=f"c:other-{number}") for number in range(3000)])
            assert Task.objects.limited().count() == BLOCKED
        if request.param == "analysed when full":
            _analyse()
    yield
    with django_db_blocker.unblock():
        _empty()
        forget_statistics()
        connection.close()


def _empty() -> None:
    with connection.cursor() as cursor:
        for model in (Task, Limit, Queue):
            verb = "DELETE FROM" if connection.vendor == "sqlite" else "TRUNCATE"
            cursor.execute(f"{verb} {model._meta.db_table}")


def _analyse() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


@pytest.fixture
def store(filled: None, db: None) -> Store:
    return store_for("default")


@pytest.fixture
def explains() -> None:
    if connection.vendor == "mysql":
        pytest.skip("no partial indexes")


def statements(verb: Any) -> int:
    with CaptureQueriesContext(connection) as queries:
        verb()
    return len(queries)


def test_a_plain_claim_sends_as_many_statements_as_ever(store: Store):
    needed = 5 if connection.vendor == "mysql" else 2  # a look and a claim, which is a transaction of four there
    assert statements(lambda: store.claim(OWNER, 5)) == needed


def test_a_plain_claim_reads_none_of_them(store: Store, explains: None):
    seen = plans(lambda: store.claim(OWNER, 5))
    look, claim = (plan for plan in seen if plan.startswith(("WITH", "UPDATE")))
    assert cheap(look, "locqueue_task_ready")
    assert cheap(claim, "locqueue_task_ready")
    assert "locqueue_task_limited" not in claim


def test_the_look_at_the_heads_asks_the_index_of_limited_tasks_for_its_first_entry(store: Store, explains: None):
    assert cheap(plan_of(store.look, "WITH RECURSIVE"), "locqueue_task_limited")


def test_the_queues_with_limited_tasks_are_found_by_steps_through_their_index(store: Store, explains: None):
    assert cheap(plan_of(store.limited_queues, "WITH RECURSIVE"), "locqueue_task_limited")


def test_the_lines_of_a_queue_are_found_by_steps_through_the_index(store: Store, explains: None):
    plan = plan_of(lambda: store.lines("queue 1", "", 100), "WITH RECURSIVE")
    assert cheap(plan, "locqueue_task_limited")
    assert "locqueue_task_under_limit" in plan, "what runs under a key is counted in its own index"
    assert "locqueue_task_running" not in plan
    assert "Seq Scan on locqueue_limit" not in plan


def test_the_keys_of_a_queue_are_found_by_steps_through_the_index(store: Store, explains: None):
    assert cheap(plan_of(lambda: store.line_keys("queue 1", "", 100), "WITH RECURSIVE"), "locqueue_task_limited")


def test_the_first_of_a_line_are_read_from_the_index(store: Store, explains: None):
    plan = plan_of(lambda: store.waiting_in(Line("queue 1", "c:shop-1"), 5), "SELECT id")
    assert cheap(plan, "locqueue_task_limited")
    assert "locqueue_task_under_limit" not in plan


def test_what_runs_under_a_key_is_counted_in_an_index_of_its_own(store: Store, explains: None):
    plan = plan_of(lambda: store.running_under("c:shop-1"), "SELECT COUNT")
    assert cheap(plan, "locqueue_task_under_limit")


def test_those_whose_turn_it_is_are_claimed_by_primary_key(store: Store, explains: None):
    start = "WITH picked" if connection.vendor == "postgresql" else "UPDATE"
    plan = plan_of(lambda: store.claim_lines([Line("queue 1", "c:shop-1")], OWNER, 1), start)
    steps = plan.partition("\n")[2]
    for costly in (*SCANS, "locqueue_task_limited", "locqueue_task_running", "locqueue_task_under_limit"):
        assert costly not in f"{steps}\n", plan


def test_no_look_and_no_claim_sorts(store: Store):
    mark = Mark(0, ago(hours=2), 0)
    verbs: list[Callable[[], Any]] = [
        store.look,
        lambda: store.claim_from("default", OWNER, 2),
        lambda: store.claim_from("default", OWNER, 2, floor=0),
        lambda: store.claim_from("default", OWNER, 2, after=mark),
        lambda: list(store.find_ready(5, queues=["default"])),
        lambda: store.count_pending("queue 1", 5),
        store.limited_queues,
        lambda: store.lines("queue 1", "", 100),
        lambda: store.waiting_in(Line("queue 1", "c:shop-1"), 5),
        lambda: Census(store, 100).waiting(),
        lambda: list(Selection("ready", queue="default").rows()[:100]),
        lambda: list(Selection("blocked", queue="queue 1").rows()[:100]),
    ]
    sorting = [plan for verb in verbs for plan in plans(verb) if re.search(r"filesort|TEMP B-TREE|\bSort\b", plan)]
    assert sorting == []


def test_a_pass_over_the_lines_sends_as_many_statements_as_it_claims_for(store: Store):
    claims = []
    sent = statements(lambda: claims.append(store.claim_limited(OWNER, 3, now=NOW)))
    assert claims[0].count == 3
    # Of each line: lock, is there a row, make it, lock; read, count, claim, note; and the transaction's own two.
    steps = 13 if connection.vendor == "mysql" else 10
    assert sent == 2 + 3 * steps
