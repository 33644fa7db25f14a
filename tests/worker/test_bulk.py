"""A worker does what a person asked for all that match, if the person may still ask for it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.utils import timezone

from django_locqueue.compat import task_finished
from django_locqueue.models import BulkOperation, Task
from django_locqueue.scheduler.scheduler import Scheduler
from django_locqueue.service import IDLE_SECONDS
from django_locqueue.store import Store, bulk, store_for
from django_locqueue.store.selection import Selection
from django_locqueue.worker import bulk as bulk_work
from django_locqueue.worker.bulk import BulkWork
from tests.store.rows import put_many

pytestmark = pytest.mark.django_db


@pytest.fixture
def store(db: None) -> Store:
    return store_for("default")


@pytest.fixture(autouse=True)
def owns_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread's connections are the test's."""
    monkeypatch.setattr("django_locqueue.worker.bulk.close_connections", lambda: None)


@pytest.fixture
def user(db: None) -> User:
    user = User.objects.create(username="alice", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=("bulk_task", "retry_task")))
    return user


def ask(store: Store, verb: str = "retry", listing: str = "failed", **more: Any) -> BulkOperation:
    put_many(5, "failed", finished_at=timezone.now() - timedelta(hours=1))
    return store.add_bulk(verb, Selection(listing), **{"by": "alice", "matched": 5, **more})


def work_off(store: Store) -> BulkOperation:
    work = BulkWork(store)
    while work.run_once() == 0:
        pass
    operation: BulkOperation = BulkOperation.objects.get()
    return operation


def test_it_goes_through_all_batches(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "BATCH", 2)
    ask(store)
    operation = work_off(store)
    assert (operation.state, operation.changed, operation.skipped) == ("done", 5, 0)
    assert set(Task.objects.values_list("state", "retried_by")) == {("ready", "alice")}


def test_what_was_not_counted_is_counted_first(store: Store) -> None:
    ask(store, matched=0)
    operation = work_off(store)
    assert (operation.matched, operation.changed) == (5, 5)


def test_one_who_may_is_asked_for_again_and_served(store: Store, user: User) -> None:
    ask(store, user_id=str(user.pk))
    assert work_off(store).state == "done"


LOSSES: dict[str, Callable[[User], Any]] = {
    "one permission": lambda user: user.user_permissions.remove(Permission.objects.get(codename="retry_task")),
    "bulk": lambda user: user.user_permissions.remove(Permission.objects.get(codename="bulk_task")),
    "activity": lambda user: User.objects.update(is_active=False),
    "account": lambda user: user.delete(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_who_may_no_longer_is_refused_when_it_starts(store: Store, user: User, loss: str) -> None:
    ask(store, user_id=str(user.pk))
    LOSSES[loss](user)
    operation = work_off(store)
    assert operation.state == "failed"
    assert operation.problem in (BulkOperation.NOT_PERMITTED, BulkOperation.NOT_ACTIVE)
    assert Task.objects.failed().count() == 5


@pytest.mark.parametrize(
    "columns",
    [{"verb": "explode"}, {"selection": {"listing": "nonsense"}}, {"selection": []}, {"options": {"colour": "red"}}],
)
def test_what_cannot_be_done_ends_with_the_reason(store: Store, columns: Any) -> None:
    ask(store)
    BulkOperation.objects.update(**columns)
    operation = work_off(store)
    assert (operation.state, operation.problem) == ("failed", BulkOperation.NOT_POSSIBLE)


def test_what_it_cancels_is_told_to_receivers(store: Store, django_capture_on_commit_callbacks: Any) -> None:
    put_many(3)
    store.add_bulk("cancel", Selection("ready"), by="alice", matched=3, reason="wrong month")
    told: list[str] = []

    def tell(task_result: Any, **kwargs: Any) -> None:
        told.append(task_result.id)

    task_finished.connect(tell)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            work_off(store)
    finally:
        task_finished.disconnect(tell)
    assert len(told) == 3
    assert set(Task.objects.values_list("state", "error_message")) == {("cancelled", "by alice: wrong month")}


def test_one_with_a_rate_lets_the_next_go_first(store: Store) -> None:
    slow = ask(store, rate=12)
    fast = store.add_bulk("delete", Selection("ready"), by="bob", matched=0)
    work = BulkWork(store)
    while (rest := work.run_once()) == 0:
        pass
    assert rest <= 5  # when the next batch of the slow one is due
    states = dict(BulkOperation.objects.values_list("pk", "state"))
    assert states == {slow.pk: "running", fast.pk: "done"}


def test_it_sleeps_until_there_is_something_to_do(store: Store) -> None:
    work = BulkWork(store)
    assert work.run_once() == IDLE_SECONDS
    work.look()
    assert not work._wake.is_set()
    ask(store)
    work.look()
    assert not work._wake.is_set()  # it has just looked
    work._looked -= bulk_work.LOOK_SECONDS
    work.look()
    assert work._wake.is_set()


def test_a_scheduler_sees_with_its_own_statement_that_something_is_due(store: Store) -> None:
    woken: list[bool] = []
    scheduler = Scheduler(store, on_bulk_due=lambda: woken.append(True))
    scheduler.look()
    assert not woken
    ask(store)
    scheduler.look()
    assert store.take_bulk() is not None
    scheduler.look()  # somebody has it
    assert woken == [True]
