"""D7: whatever somebody wrote into a row by SQL, no other row waits for it, and every page and result can be read."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_locqueue import endings
from django_locqueue.models import State, Task, UniqueItem
from django_locqueue.store import Claimed, Store
from django_locqueue.store.serve import Owner
from django_locqueue.worker.dispatcher import Dispatcher
from django_locqueue.worker.execution import Execution
from tests import limited_tasks, tasks, unique_tasks
from tests.admin.conftest import LISTS, list_url
from tests.running import our_backend, perform, row
from tests.store.damage import DAMAGES, damage

UNCLAIMABLE = "run_after 0" if connection.vendor == "sqlite" else "attempt at its end"  # SQLite counts on to 2**63

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def store() -> Store:
    return our_backend().store


@pytest.fixture
def rows() -> Callable[..., tuple[dict[str, int], list[int]]]:
    """Return a function that puts a row of each damage beside sound ones, all with the given columns.

    It returns the ids of the damaged by name, and those of the sound.
    """

    def make(**columns: Any) -> tuple[dict[str, int], list[int]]:
        results = tasks.add.enqueue_many([((number,), {}) for number in range(2 * len(DAMAGES) + 1)])
        ids = [int(result.id) for result in results]
        if columns:
            Task.objects.update(**columns)
        damaged = {name: pk for name, pk in zip(DAMAGES, ids[1::2], strict=True) if damage(pk, name)}
        return damaged, ids[::2]

    return make


class Slots:
    """A pool that keeps what it is given, as the dispatcher sees one."""

    size = free_threads = 500
    busy = ended_on_threads = first_waiting = free_async = async_concurrency = 0
    may_grow = False
    members: tuple[Any, ...] = ()

    def __init__(self) -> None:
        self.submitted: list[Claimed] = []

    def submit(self, claimed: Iterable[Claimed], **options: Any) -> None:
        self.submitted += claimed

    def is_async(self, claimed: Claimed) -> bool:
        return False

    def withdraw(self, **options: Any) -> list[Any]:
        return []


def serve(store, passes=4):
    """Let a dispatcher claim for some passes, as its loop would; return what the pool was given."""
    worker = store.register_worker("live:1", lease=300)
    slots = Slots()
    dispatcher = Dispatcher(
        store,
        slots,
        lambda: Owner(worker.pk, worker.name),
        lambda execution: None,
        set,
    )
    for _ in range(passes):
        dispatcher._pass()
    assert dispatcher.failures == 0, "it still fails"
    return slots.submitted


def test_d7_damaged_rows_hold_up_no_other(store, rows):
    _, sound = rows()
    given = {task.id for task in serve(store)}
    assert not set(sound) - given


def test_what_becomes_of_a_damaged_row_is_an_end_with_a_reason_or_a_run(store, rows, settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"UNKNOWN_TASK_SECONDS": 0}}
    damaged, _ = rows()
    perform([Execution(task) for task in serve(store)])
    ends = {name: Task.objects.values_list("state", "error_message").get(pk=pk) for name, pk in damaged.items()}
    del ends["unknown state"]  # perhaps a newer version's: left alone
    assert {
        name: end for name, end in ends.items() if end[0] != State.SUCCESSFUL and not (end[0] == "failed" and end[1])
    } == {}
    assert ends[UNCLAIMABLE][0] == State.FAILED


def test_d7_the_results_of_damaged_rows_can_be_read(rows):
    damaged, _ = rows()
    backend = our_backend()
    assert {name for name, pk in damaged.items() if backend.get_result(str(pk)).is_finished} == set()


@pytest.mark.parametrize("state", ["ready", "running", "failed"])
def test_d7_the_pages_that_show_damaged_rows_can_be_read(rows, state):
    damaged, _ = rows(state=state, attempt=1, worker_ids="w\n", finished_at=timezone.now())
    root = Client()
    root.force_login(User.objects.create_superuser("root"))
    pages = [
        *map(list_url, (*LISTS, "queue")),
        list_url("pendingtask", "?tab=scheduled"),
        list_url("task", "?state=failed"),
    ]
    pages += [f"/admin/locqueue/task/{pk}/change/" for pk in damaged.values()]
    assert {page: root.get(page).status_code for page in pages} == dict.fromkeys(pages, 200)


def test_damage_in_scheduled_rows_does_not_hold_up_promotion(store, rows):
    _, sound = rows(state="scheduled", run_after=timezone.now() - timedelta(hours=1))
    due = store.next_due()
    assert due is not None
    assert due <= 0
    store.promote()
    assert states(sound) == {"ready"}


def test_damage_in_running_rows_does_not_hold_up_the_rescue(store, rows):
    dead = store.register_worker("dead:1", lease=1, now=timezone.now() - timedelta(hours=1))
    damaged, sound = rows(state="running", worker=dead, attempt=1, claim_no=1, worker_ids="dead:1\n")
    endings.rescue(store, max_crashes=3)
    assert states(sound) == {"ready"}
    assert "running" not in states(damaged.values())


def test_damage_in_finished_rows_does_not_hold_up_pruning(store, rows):
    _, sound = rows(state="failed", attempt=1, finished_at=timezone.now() - timedelta(days=99))
    store.prune({"failed": 1})
    assert states(sound) == set()


def test_what_a_dead_worker_held_is_given_up_whatever_it_holds(store, rows):
    dead = store.register_worker("dead:1", lease=30)
    _, sound = rows(state="running", worker=dead, attempt=1, claim_no=1, worker_ids="dead:1\n")
    endings.give_up_worker(store, dead.pk, begun=[], max_crashes=3)
    assert states(sound) == {"ready"}


@pytest.mark.parametrize("verb", ["cancel", "requeue", "run_now", "delete"])
def test_what_a_person_does_to_many_tasks_is_done_to_those_beside_a_damaged_one(store, rows, verb):
    state = {"requeue": "failed", "run_now": "scheduled"}.get(verb, "ready")
    damaged, sound = rows(state=state, finished_at=timezone.now() if state == "failed" else None)
    ids = [*damaged.values(), *sound]
    if verb == "cancel":
        endings.cancel(store, ids)
    else:
        getattr(store, verb)(ids)
    assert state not in states(sound)


def states(ids: Iterable[int]) -> set[str]:
    return set(Task.objects.filter(pk__in=list(ids)).values_list("state", flat=True))


def test_a_row_that_was_set_aside_says_so_once(store, caplog):
    bad = tasks.add.enqueue(1)
    damage(int(bad.id), UNCLAIMABLE)
    assert endings.set_aside(store) == [int(bad.id)]
    assert endings.set_aside(store) == []
    assert [
        record.getMessage().partition(",")[0] for record in caplog.records if "holds up" in record.getMessage()
    ] == [f"Task {bad.id} is failed"]
    assert row(bad).error_class == "django_locqueue.exceptions.DamagedTask"
    assert row(bad).error_message.startswith("This row cannot be claimed: ")


def test_a_look_for_damage_changes_no_sound_row(store):
    tasks.add.enqueue_many([((number,), {}) for number in range(20)])
    before = list(Task.objects.order_by("id").values())
    assert store.set_aside() == []
    assert list(Task.objects.order_by("id").values()) == before


def test_the_heads_of_many_lines_are_looked_at_together(store):
    results = [limited_tasks.in_order.enqueue(shop, number=1) for shop in range(12)]
    Task.objects.filter(pk__in=[int(result.id) for result in results[:6]]).update(queue_name="other")
    with CaptureQueriesContext(connection) as queries:
        assert store.set_aside() == []
    assert len([query["sql"] for query in queries if query["sql"].startswith("UPDATE")]) == 1


def test_a_task_that_has_begun_before_it_is_set_aside_keeps_its_items(store, monkeypatch):
    task_id = int(unique_tasks.fetch.enqueue(1, [1]).id)

    def claimed_meanwhile(ids, now):
        Task.objects.filter(pk__in=ids).update(state="running")
        return ValueError("damaged")

    monkeypatch.setattr(store, "_try_to_claim", claimed_meanwhile)
    assert store.set_aside() == []
    assert UniqueItem.objects.get().task_id == task_id


def test_a_row_that_breaks_a_constraint_is_mended_to_be_failed(store):
    if connection.vendor != "postgresql":
        pytest.skip("only PostgreSQL takes a constraint that rows break already")
    bad, good = tasks.add.enqueue(1), tasks.add.enqueue(2)
    Task.objects.filter(pk=bad.id).update(priority=200)
    sql("ALTER TABLE locqueue_task ADD CONSTRAINT added_by_hand CHECK (priority < 100) NOT VALID")
    try:
        assert [task.id for task in serve(store)] == [int(good.id)]
    finally:
        sql("ALTER TABLE locqueue_task DROP CONSTRAINT added_by_hand")
    assert (row(bad).state, row(bad).priority) == ("failed", 0)


def sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize("terms", ["nonsense", "[]", '{"concurrency":"many"}', '{"rate_key":"r","rate_limit":-1}'])
def test_a_limited_task_with_terms_that_nobody_wrote_is_failed_and_holds_up_no_other(store, terms):
    damaged, sound = (int(limited_tasks.in_order.enqueue(1, number=number).id) for number in range(2))
    other = int(limited_tasks.hourly.enqueue(1).id)
    Task.objects.filter(pk=damaged).update(terms=terms)
    assert {task.id for task in serve(store)} == {sound, other}
    assert Task.objects.get(pk=damaged).error_message.startswith("This row cannot be claimed: ")
