"""A worker's death was seen: what really ran is charged a crash, everything else goes back free."""

from typing import Any

import pytest
from django.db import transaction

from django_locqueue.models import Task, Worker
from django_locqueue.store import Claimed, Store
from django_locqueue.store.serve import Owner
from tests.store.races import in_thread
from tests.store.rows import NOW, ago, call, put, row

FREE = {"state": "ready", "crashes": 0, "attempt": 0, "worker_ids": ""}
CHARGED = {"state": "ready", "crashes": 1, "attempt": 1}


def assert_is(task: Claimed, expected: dict[str, Any]) -> None:
    stored = row(task.id)
    assert {column: stored[column] for column in expected} == expected


def test_a_claim_that_commits_after_the_first_look_goes_back_free(
    store: Store, owner: Owner, monkeypatch: pytest.MonkeyPatch
):
    store.enqueue_many([call(), call(), call()])
    ran, waited = store.claim(owner, 2)
    stop, late = store.stop_worker, []

    def stop_worker(worker_id: int) -> None:
        late.extend(store.claim(owner, 1))  # the server was still at the dead process's last statement
        stop(worker_id)

    monkeypatch.setattr(store, "stop_worker", stop_worker)
    store.give_up_worker(owner.id, begun={ran.key}, max_crashes=3)
    assert_is(ran, CHARGED)
    assert_is(waited, FREE)
    assert_is(late[0], FREE)


def test_an_earlier_claim_of_the_same_task_is_not_charged(store: Store, owner: Owner):
    store.enqueue(call())
    [task] = store.claim(owner, 1)
    store.give_up_worker(owner.id, begun={(task.id, task.claim_no - 1)}, max_crashes=3)
    assert_is(task, FREE)


@pytest.mark.django_db(transaction=True)
def test_a_sweep_passes_over_a_worker_whose_row_somebody_holds(store: Store, needs_row_locks: None):
    held, other = (store.register_worker(name, lease=1, now=ago(seconds=9)) for name in ("held", "other"))
    task = put("running", attempt=1, worker_ids="other\n", worker_id=other.pk)
    with transaction.atomic():
        Worker.objects.select_for_update().get(pk=held.pk)
        assert [each.id for each in in_thread(lambda: store.rescue(max_crashes=3, now=NOW))] == [task]
    assert Worker.objects.get(pk=held.pk).stopped_at is None
    assert not Task.objects.running().exists()
