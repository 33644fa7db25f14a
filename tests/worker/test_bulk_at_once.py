"""G4: a bulk retry while workers run: nothing runs twice, the counts add up, and stop works."""

import threading
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from django_locqueue.models import BulkOperation, Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store, bulk, store_for
from django_locqueue.store.selection import Selection
from django_locqueue.worker.bulk import change_next
from tests.store.races import race
from tests.store.rows import outcome, owner_of, put_many

pytestmark = pytest.mark.django_db(transaction=True)

COUNT = 600
PATIENCE_SECONDS = 60.0


class Scene:
    """Failed tasks, an operation that retries them, and all who do something at the same time."""

    def __init__(self, store: Store) -> None:
        self.store = store
        put_many(COUNT, "failed", attempt=1, finished_at=timezone.now() - timedelta(hours=1))
        self.operation = store.add_bulk("retry", Selection("failed"), by="alice", matched=COUNT)
        self.ran: Counter[int] = Counter()
        self.by_hand: list[int] = []
        self.over = threading.Event()
        self.may_go_on = threading.Event()  # behind the first batch
        self.may_go_on.set()

    def go_through(self) -> None:
        """Do what a worker does for the operation, one of several."""
        while not BulkOperation.objects.get().is_finished:
            operation = self.store.take_bulk()
            while operation is not None and not operation.is_finished:
                operation = change_next(self.store, operation)
                self.may_go_on.wait(PATIENCE_SECONDS)
            self.over.wait(0.01)
        self.over.set()

    def run_tasks(self) -> None:
        """Claim and end what is ready, as a worker does: every fourth task fails again."""
        owner = owner_of(self.store.register_worker(f"w{threading.get_ident()}", lease=300))
        while True:
            was_over = self.over.is_set()
            claimed = self.store.claim(owner, 20)
            for task in claimed:
                self.ran[task.id] += 1
            kinds = [Kind.FAILED if task.id % 4 == 0 else Kind.SUCCESSFUL for task in claimed]
            if claimed:
                self.store.ack([(task, outcome(kind)) for task, kind in zip(claimed, kinds, strict=True)])
            elif was_over:
                return
            else:
                self.over.wait(0.005)

    def retry_by_hand(self) -> None:
        """Somebody else retries the same tasks, from the other end."""
        ids = list(Task.objects.order_by("pk").values_list("pk", flat=True)[: COUNT // 3])
        for start in range(0, len(ids), 20):
            self.by_hand += self.store.requeue(ids[start : start + 20], by="bob")


@pytest.fixture
def scene(db: None, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(bulk, "BATCH", 40)
    return Scene(store_for("default"))


def test_g4_nothing_is_retried_twice_and_the_counts_add_up(scene: Scene) -> None:
    race(scene.go_through, scene.go_through, scene.run_tasks, scene.run_tasks)
    operation = BulkOperation.objects.get()
    assert operation.state == "done"
    assert operation.changed + operation.skipped == operation.matched
    assert set(scene.ran.values()) == {1}
    assert scene.ran.total() == operation.changed == COUNT


def test_what_another_retried_meanwhile_is_skipped(scene: Scene) -> None:
    race(scene.go_through, scene.retry_by_hand)
    operation = BulkOperation.objects.get()
    assert operation.changed + len(scene.by_hand) == COUNT
    assert operation.skipped == len(scene.by_hand)
    assert Task.objects.ready().count() == COUNT


def test_it_can_be_stopped_while_workers_run(scene: Scene) -> None:
    def stop() -> None:
        while not scene.ran:  # it has begun
            scene.over.wait(0.001)
        assert scene.store.stop_bulk(scene.operation.pk, by="bob")
        scene.may_go_on.set()

    scene.may_go_on.clear()
    race(scene.go_through, scene.run_tasks, stop)
    operation = BulkOperation.objects.get()
    assert (operation.state, operation.stopped_by) == ("stopped", "bob")
    assert scene.ran.total() == operation.changed < COUNT
