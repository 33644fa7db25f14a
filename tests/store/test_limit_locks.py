"""Limits among several connections: who serves a line is alone, and nobody waits for him."""

from typing import Any

import pytest
from django.db import transaction

from django_locqueue.models import Limit, Task
from django_locqueue.store import Store
from django_locqueue.store.limits import BUSY_SECONDS
from django_locqueue.store.serve import Owner
from tests.store.limited import blocked, blocked_many
from tests.store.races import in_thread, race
from tests.store.rows import NOW
from tests.store.test_locks import held

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_workers_that_claim_at_once_start_no_more_than_the_limit(store: Store, owner: Owner, concurrency: int):
    blocked_many(20, "shop", concurrency=concurrency)
    claims = race(*[lambda: store.claim_limited(owner, 20) for _ in range(4)])
    assert sum(claim.count for claim in claims) == concurrency
    assert Task.objects.running().count() == concurrency


def test_workers_that_claim_at_once_take_no_token_twice(store: Store, owner: Owner):
    blocked_many(200, rate=("api", 1000, 60.0))
    claims = race(*[lambda: store.claim_limited(owner, 20, now=NOW) for _ in range(4)])
    assert sum(claim.count for claim in claims) == 1


def test_a_line_that_another_serves_is_passed_over(store: Store, owner: Owner, needs_row_locks: None):
    blocked("a")
    second = blocked("b")
    Limit.objects.create(key="c:a")
    with transaction.atomic():
        Limit.objects.select_for_update().get(pk="c:a")
        claim = in_thread(lambda: store.claim_limited(owner, 5))
    assert [task.id for task in claim.tasks] == [second]
    assert claim.next_seconds == BUSY_SECONDS


def test_a_task_that_somebody_changes_is_waited_for_and_not_overtaken(
    store: Store, owner: Owner, needs_row_locks: None
):
    first, _ = blocked("shop"), blocked("shop")
    with transaction.atomic():
        held(first)
        claim = in_thread(lambda: store.claim_limited(owner, 5))
    assert claim.tasks == []
    assert claim.next_seconds == BUSY_SECONDS
    assert [task.id for task in store.claim_limited(owner, 5).tasks] == [first]


@pytest.mark.parametrize("limit", [{"rate": ("api", 1, 60.0)}, {"key": "shop", "concurrency": 2}])
def test_where_the_order_is_not_promised_the_next_goes_before_a_first_that_somebody_has_locked(
    store: Store, owner: Owner, needs_row_locks: None, limit: dict[str, Any]
):
    first, second = blocked(**limit), blocked(**limit)
    with transaction.atomic():
        held(first)
        claim = in_thread(lambda: store.claim_limited(owner, 1))
    assert [task.id for task in claim.tasks] == [second]
