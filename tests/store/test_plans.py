"""No statement of the hot path reads what it does not need, whatever the planner believes of the table.

A queue's statistics are always wrong: the tables are full when they were analysed while empty, never, or just now.
"""

import random
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from django_locqueue.exceptions import DuplicateTask
from django_locqueue.models import (
    ErrorCount,
    ErrorGroup,
    Queue,
    Schedule,
    Task,
    TaskAttempt,
    TaskStat,
    UniqueItem,
    Worker,
)
from django_locqueue.observability.stats import capped_counts
from django_locqueue.policies.outcome import Kind
from django_locqueue.policies.report import Report
from django_locqueue.statement_limit import statement_limit
from django_locqueue.store import Claimed, Store, store_for
from django_locqueue.store.look_back import Found
from django_locqueue.store.selection import Selection
from django_locqueue.store.serve import Mark, Owner
from tests.store.plans import forget_statistics, plan_of, plans
from tests.store.rows import NOW, ago, call, later, outcome, put, put_many

pytestmark = pytest.mark.django_db


@pytest.fixture(
    scope="module", params=["analysed while empty", "never analysed", "analysed when full", "analysed during a burst"]
)
def filled(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> Any:
    """Fill the tables once for the module, each time with other statistics."""
    with django_db_blocker.unblock():
        if connection.vendor == "mysql":
            pytest.skip("MySQL and MariaDB keep statistics of their own; no partial indexes")
        _empty()
        forget_statistics(analyse=False)
        with connection.cursor() as cursor:
            if request.param == "analysed while empty":
                cursor.execute("ANALYZE")
            if request.param == "analysed during a burst":
                # Most of the table waited or ran then; now it has ended.
                for state in ("scheduled", "ready", "running"):
                    put_many(5000, state, attempt=1, worker_id=1, worker_ids="w\n", run_after=ago(hours=2))
                cursor.execute("ANALYZE")
                cursor.execute("DELETE FROM locqueue_task")
            _fill()
            if request.param == "analysed when full":
                cursor.execute("ANALYZE")
    yield request.param
    with django_db_blocker.unblock():
        _empty()
        forget_statistics()
        connection.close()


def _empty() -> None:
    with connection.cursor() as cursor:
        for model in (TaskAttempt, Task, Worker, Queue):
            # New files and no statistics, which DELETE would leave behind.
            verb = "TRUNCATE" if connection.vendor == "postgresql" else "DELETE FROM"
            cursor.execute(f"{verb} {model._meta.db_table}")


def _fill() -> None:
    with transaction.atomic():
        for days in range(20):
            put_many(10, "successful", finished_at=ago(days=days), attempt=1, worker_ids="w\n")
        columns = ", ".join(str(f.column) for f in Task._meta.concrete_fields if not f.primary_key)
        with connection.cursor() as cursor:
            for _ in range(7):  # 200 rows, doubled up to 25,600
                cursor.execute(f"INSERT INTO locqueue_task ({columns}) SELECT {columns} FROM locqueue_task")
        put_many(100, "failed", finished_at=ago(days=19), attempt=2, worker_ids="w\nw\n")
        for number in range(4):
            put_many(50, "ready", queue_name=f"queue {number}", priority=number, run_after=ago(hours=1))
            put_many(500, "scheduled", run_after=later(hours=number))
        put_many(20, "scheduled", run_after=ago(seconds=1))


@pytest.fixture
def store(filled: str, db: None) -> Store:
    return store_for("default")


@pytest.fixture
def tasks(store: Store) -> list[Claimed]:
    """Return claimed tasks in the midst of many that run."""
    worker = store.register_worker("w", lease=60, now=NOW)
    put_many(1000, "running", attempt=1, worker_ids="w\n", worker_id=worker.pk)
    claimed = store.claim(Owner(worker.pk, "w"), 60)
    return random.Random(1).sample(claimed, len(claimed))


SCANS = ("Seq Scan on locqueue_task", "SCAN locqueue_task\n")
SORTS = ("Sort", "USE TEMP B-TREE")


def cheap(plan: str, index: str, *, costly: tuple[str, ...] = (*SCANS, *SORTS)) -> bool:
    """Whether the index is read, in its order, and the table is not read from end to end."""
    assert index in plan, plan
    for step in costly:
        assert step not in f"{plan}\n", plan
    return True


def cheap_enough(plan: str, index: str) -> bool:
    """The same for maintenance and pages, where PostgreSQL may sort the few rows that it expects from the index."""
    return cheap(plan, index, costly=SCANS if connection.vendor == "postgresql" else (*SCANS, *SORTS))


def test_a_claim_reads_the_head_of_the_ready_index(store: Store):
    def claim() -> Any:
        return store.claim_from("queue 1", Owner(1, "w"), 10)

    assert cheap(
        plan_of(claim, "WITH picked" if connection.vendor == "postgresql" else "UPDATE"), "locqueue_task_ready"
    )


def test_a_claim_above_a_priority_reads_the_head_of_the_ready_index(store: Store):
    def claim() -> Any:
        return store.claim_from("queue 1", Owner(1, "w"), 10, 1)

    assert cheap(
        plan_of(claim, "WITH picked" if connection.vendor == "postgresql" else "UPDATE"), "locqueue_task_ready"
    )


def test_a_claim_behind_a_mark_begins_there_in_the_ready_index(store: Store):
    def claim() -> Any:
        return store.claim_from("queue 1", Owner(1, "w"), 10, after=Mark(0, ago(hours=1), 5))

    plan = plan_of(claim, "WITH picked" if connection.vendor == "postgresql" else "UPDATE")
    assert cheap(plan, "locqueue_task_ready")
    # A condition of the index, not a filter over all that it holds.
    start = {"postgresql": "Index Cond: .*ROW\\(run_after, id\\) >", "sqlite": "INDEX .*run_after>"}[connection.vendor]
    assert re.search(start, plan)


def test_a_short_claim_finds_the_next_head_in_the_ready_index(store: Store):
    seen = [plan for plan in plans(lambda: store.claim(Owner(1, "w"), 120)) if plan.startswith("SELECT priority")]
    assert seen
    assert all(cheap(plan, "locqueue_task_ready") for plan in seen)


def test_the_queues_with_ready_tasks_are_found_in_the_ready_index(store: Store):
    assert cheap(plan_of(store.look, "WITH RECURSIVE"), "locqueue_task_ready")


def test_what_waits_in_a_queue_is_counted_in_the_indexes_of_ready_and_of_limited_tasks(store: Store):
    put_many(500, "blocked", limit_key="c:shop", queue_name="queue 1")
    plan = plan_of(lambda: store.count_pending("queue 1", 1000), "SELECT")
    assert cheap(plan, "locqueue_task_ready")
    assert cheap(plan, "locqueue_task_limited")


def test_promotion_reads_the_scheduled_index(store: Store):
    assert cheap_enough(plan_of(lambda: store.promote(now=NOW), "SELECT"), "locqueue_task_scheduled")


def test_a_promoted_batch_is_written_by_primary_key(store: Store):
    plan = plan_of(lambda: store.promote(now=NOW), "UPDATE")
    assert "locqueue_task_pkey" in plan or "INTEGER PRIMARY KEY" in plan, plan
    assert "locqueue_task_scheduled" not in plan, plan


def test_the_next_due_time_is_read_from_the_scheduled_index(store: Store):
    assert cheap_enough(plan_of(lambda: store.next_due(now=NOW), "SELECT"), "locqueue_task_scheduled")


@pytest.mark.parametrize("state", ["successful", "failed"])
def test_pruning_reads_the_finished_index(store: Store, state: str):
    assert cheap_enough(
        plan_of(lambda: store.prune({state: 15}, limit=100, now=NOW), "SELECT"), "locqueue_task_finished"
    )


def test_the_page_of_failed_tasks_reads_the_finished_index(store: Store):
    def page() -> Any:
        return list(Task.objects.failed().order_by("-finished_at", "-id")[:100])

    assert cheap_enough(plan_of(page, "SELECT"), "locqueue_task_finished")


def test_the_page_of_retried_tasks_reads_its_index(store: Store):
    assert cheap(plan_of(lambda: list(Task.objects.retried().order_by("-id")[:100]), "SELECT"), "locqueue_task_retried")


def test_what_a_worker_is_asked_to_stop_is_found_by_its_ids(store: Store, tasks: list[Claimed]):
    plan = plan_of(lambda: store.asked_to_stop([task.key for task in tasks]), "SELECT")
    assert cheap(plan, "locqueue_task_pkey" if connection.vendor == "postgresql" else "INTEGER PRIMARY KEY")


def by_primary_key(verb: Callable[[], Any]) -> bool:
    """Whether each statement about tasks walks the primary key, and neither the table nor an index of a state."""
    for plan in plans(verb):
        if "locqueue_task " not in plan and '"locqueue_task"' not in plan:
            continue
        steps = plan.partition("\n")[2]
        for costly in (*SCANS, "task_ready", "task_scheduled", "task_running", "task_finished", "task_retried"):
            assert costly not in f"{steps}\n", plan
    return True


def test_a_batch_of_successes_walks_the_primary_key(store: Store, tasks: list[Claimed]):
    assert by_primary_key(lambda: store.ack([(task, outcome(Kind.SUCCESSFUL)) for task in tasks]))


@pytest.mark.parametrize("kind", [each for each in Kind if each is not Kind.SUCCESSFUL])
def test_every_other_outcome_walks_the_primary_key(store: Store, tasks: list[Claimed], kind: Kind):
    assert by_primary_key(lambda: store.ack([(tasks[0], outcome(kind, delay=1))]))


def test_a_batch_that_nobody_knows_walks_the_primary_key(store: Store, tasks: list[Claimed]):
    unknown = outcome(Kind.RELEASED, delay=1, columns={"unknown_since": NOW})
    assert by_primary_key(lambda: store.ack([(task, unknown) for task in tasks]))


def test_a_success_that_is_not_kept_walks_the_primary_key(store: Store, tasks: list[Claimed]):
    assert by_primary_key(lambda: store.ack([(tasks[0], outcome(Kind.SUCCESSFUL, keep_row=False))]))


def test_what_running_tasks_say_walks_the_primary_key(store: Store, tasks: list[Claimed]):
    assert by_primary_key(lambda: store.save_reports([(task.key, Report(0.5, "half", "{}")) for task in tasks]))


@pytest.mark.parametrize("verb", ["requeue", "run_now", "cancel", "delete"])
def test_what_a_person_does_to_a_few_tasks_walks_the_primary_key(store: Store, verb: str):
    state = {"requeue": "failed", "run_now": "scheduled"}.get(verb, "ready")
    ids = list(Task.objects.filter(state=state).values_list("pk", flat=True)[:50])
    assert by_primary_key(lambda: getattr(store, verb)(ids))


def test_what_the_scout_has_found_is_claimed_through_the_primary_key(store: Store):
    ids = list(Task.objects.filter(state="ready", queue_name="queue 1").values_list("pk", flat=True))
    assert by_primary_key(lambda: store.claim_found(Found("queue 1", ids), Owner(1, "w")))
    assert Task.objects.filter(pk__in=ids, state="running").count() == len(ids)


def test_a_sweep_that_is_not_thorough_walks_the_index_of_what_runs(store: Store, tasks: list[Claimed]):
    worker = store.register_worker("dead", lease=60, now=ago(minutes=5))
    put_many(3, "running", attempt=1, worker_ids="w\n", worker_id=worker.pk)
    store.stop_worker(worker.pk, now=ago(minutes=3))
    tasks_of_the_dead = f"SELECT {connection.ops.quote_name('locqueue_task')}"
    plan = plan_of(lambda: store.rescue(max_crashes=3, thorough=False, now=NOW), tasks_of_the_dead)
    assert "locqueue_task_running" in plan or "locqueue_task_pkey" in plan or "PRIMARY KEY" in plan, plan
    assert "Seq Scan on locqueue_task" not in plan, plan
    assert "SCAN locqueue_task\n" not in plan, plan


def test_a_sweep_without_orphans_reads_only_what_runs(store: Store, tasks: list[Claimed]):
    tasks_of_the_dead = f"SELECT {connection.ops.quote_name('locqueue_task')}"
    plan = plan_of(lambda: store.rescue(max_crashes=3, now=NOW + timedelta(seconds=1)), tasks_of_the_dead)
    assert "locqueue_task_running" in plan, plan
    assert "Seq Scan on locqueue_task" not in plan, plan


def test_whether_anything_runs_without_a_worker_reads_only_what_runs(store: Store, tasks: list[Claimed]):
    plan = plan_of(store.has_orphans, f"SELECT {connection.ops.quote_name('locqueue_task')}")
    assert "locqueue_task_running" in plan, plan
    assert "Seq Scan on locqueue_task" not in plan, plan


UNIQUE = (("unique_key", "k"), ("unique_lock", "k"), ("unique_until", "started"), ("unique_seconds", None))
CONFLICTS = ["skip", "raise", "replace", "debounce", "merge"]


@pytest.fixture
def holder(store: Store) -> int:
    """Return the id of a waiting task that holds a key, in the midst of many that hold others."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE locqueue_task SET unique_key = id, unique_lock = id, unique_until = 'started' "
            "WHERE state = 'scheduled'"
        )
    return put("ready", **dict(UNIQUE))


@pytest.mark.parametrize("on_conflict", CONFLICTS)
def test_a_call_whose_key_is_held_finds_the_holder_in_its_index(store: Store, holder: int, on_conflict: str):
    def enqueue() -> None:
        with suppress(DuplicateTask):
            store.enqueue_unique([call(extra=UNIQUE)], on_conflict, lambda held, text: held)

    found = plans(enqueue)
    assert cheap(found[0], "locqueue_task_unique")
    assert by_primary_key(enqueue)


def test_a_requeue_of_unique_tasks_finds_held_keys_in_their_index(store: Store, holder: int):
    failed = put("failed", **{**dict(UNIQUE), "unique_lock": None})
    found = [plan for plan in plans(lambda: store.requeue([failed])) if "unique_lock" in plan.partition("WHERE")[2]]
    assert all(cheap(plan, "locqueue_task_unique") for plan in found[:1])
    assert found


def test_the_items_of_a_task_are_found_by_it(store: Store):
    UniqueItem.objects.bulk_create([UniqueItem(lock=f"k:{number}", task_id=number) for number in range(3000)])
    for plan in plans(lambda: store.free_items(1500)):
        assert "Seq Scan on locqueue_uniqueitem" not in plan
        assert "SCAN locqueue_uniqueitem\n" not in f"{plan}\n"


def test_the_next_slot_of_many_schedules_is_found_through_an_index(store: Store):
    rule = {"task_path": "a.b", "cron": "0 3 * * *"}
    Schedule.objects.bulk_create(Schedule(name=f"s{n}", next_at=later(minutes=n), **rule) for n in range(2000))
    for verb in (store.next_slot_in, store.look_ahead):
        plan = plan_of(verb, "SELECT")
        assert "locqueue_schedule_due" in plan
        # Bulk operations are as many as people ask for: of a few, PostgreSQL reads all.
        slow = r"Sort|TEMP B-TREE|Seq Scan(?! on locqueue_bulkoperation)|SCAN locqueue_\w+\b(?! USING)"
        assert not re.search(slow, plan), plan
    assert "locqueue_task_scheduled" in plan


@pytest.mark.parametrize("kind", ["0", "3", "none has it"])
def test_what_was_dismissed_is_in_the_way_of_no_page(store: Store, filled: str, kind: str):
    # Few kinds, one after the other in the table: to PostgreSQL the index of finished tasks looks as good. And what was
    # analysed before all was dismissed says that nothing was.
    for number in range(4):
        put_many(1000, "failed", error_group_id=f"{number}", finished_at=ago(hours=number), attempt=1)
    if filled == "analysed when full":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE locqueue_task")
    last = Task.objects.failed().order_by("-id").first()
    Task.objects.failed().exclude(pk=last.pk).update(dismissed=True)
    for selection, index in (
        (Selection("failed"), "locqueue_task_open"),
        (Selection("failed", group=kind), "locqueue_task_error"),
    ):
        rows = {"page": selection.rows()}
        with statement_limit("default", 3):
            assert capped_counts(rows, cap=100)["page"] == (0 if kind != "3" and selection.group else 1)
            (plan,) = plans(lambda: capped_counts(rows, cap=100))  # noqa: B023
            assert cheap(plan, index)
            page = plan_of(lambda: list(selection.rows()[:51]), "SELECT")  # noqa: B023
            assert cheap(page, index)


def test_old_counts_are_found_in_their_indexes_and_deleted_by_their_keys(store: Store, filled: str):
    TaskStat.objects.bulk_create(
        TaskStat(seconds=60, start=ago(days=2, minutes=minute), queue_name=f"q{queue}", task_path="a.b")
        for minute in range(60)
        for queue in range(50)
    )
    ErrorGroup.objects.bulk_create(
        ErrorGroup(pk=f"{number:040}", error_class="E", message="m" * 200, last_seen=ago(days=number / 20))
        for number in range(2000)
    )
    ErrorCount.objects.bulk_create(
        ErrorCount(group_id=f"{number:040}", hour=ago(days=number / 20), count=1) for number in range(2000)
    )
    put_many(200, "failed", error_group_id=f"{1900:040}", finished_at=ago(days=1))
    with connection.cursor() as cursor:
        for model in (TaskStat, ErrorGroup, ErrorCount):  # what is filled in a moment, autovacuum has not seen
            cursor.execute(f"ANALYZE {model._meta.db_table}")
    # Ten at once: a table of few pages, PostgreSQL rather reads whole than look for 50 keys one by one.
    found = "\n".join(plans(lambda: store.prune_end_counts(limit=10, now=NOW)))
    assert "Anti Join" not in found
    for index in (
        *("locqueue_taskstat_span", "locqueue_errorcount_age", "locqueue_error_last_seen"),
        "locqueue_task_error",
    ):
        if connection.vendor == "postgresql" or index != "locqueue_taskstat_span":
            assert index in found, found
    assert not re.search(r"Seq Scan|SCAN locqueue_\w+\n", found), found
