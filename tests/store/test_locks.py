"""Rows that someone else holds are passed over, not waited for."""

import pytest
from django.db import transaction

from django_locqueue.models import Task
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.races import in_thread
from tests.store.rows import NOW, ago, put

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("needs_row_locks")]


def held(pk: int) -> None:
    """Lock a row until the end of the transaction, as a person at an SQL prompt may."""
    Task.objects.select_for_update().get(pk=pk)


def test_a3_a_claim_passes_over_a_locked_head_and_takes_it_after_its_release(store: Store, owner: Owner):
    head, *others = [put() for _ in range(5)]
    with transaction.atomic():
        held(head)
        assert [task.id for task in in_thread(lambda: store.claim(owner, 10))] == others
    assert [task.id for task in store.claim(owner, 10)] == [head]


def test_a3_a_locked_head_does_not_hide_the_tasks_of_other_queues(store: Store, owner: Owner):
    head = put(queue_name="a", priority=5)
    others = {put(queue_name="a", priority=4), put(queue_name="b", priority=3), put(queue_name="a")}
    with transaction.atomic():
        held(head)
        assert {task.id for task in in_thread(lambda: store.claim(owner, 10))} == others


def test_a3_a_claim_of_one_passes_over_a_locked_head(store: Store, owner: Owner):
    head, second = put(), put()
    with transaction.atomic():
        held(head)
        assert [task.id for task in in_thread(lambda: store.claim(owner, 1))] == [second]


def test_a3_promotion_passes_over_a_locked_row(store: Store):
    head, _ = [put("scheduled", run_after=ago(seconds=1)) for _ in range(2)]
    with transaction.atomic():
        held(head)
        assert in_thread(lambda: store.promote(now=NOW)) == 1
    assert store.promote(now=NOW) == 1


def test_a3_pruning_passes_over_a_locked_row(store: Store):
    head, _ = [put("failed", finished_at=ago(days=1)) for _ in range(2)]
    with transaction.atomic():
        held(head)
        assert in_thread(lambda: store.prune({"failed": 0}, now=NOW)) == 1
    assert store.prune({"failed": 0}, now=NOW) == 1


def test_a3_rescue_passes_over_a_locked_row(store: Store):
    head, _ = [put("running", attempt=1, worker_ids="x\n") for _ in range(2)]
    with transaction.atomic():
        held(head)
        assert len(in_thread(lambda: store.rescue(max_crashes=3, now=NOW))) == 1
    assert len(store.rescue(max_crashes=3, now=NOW)) == 1
