"""Everybody at once on one table: nobody sees a deadlock or a busy lock, and each task is claimed once."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest

from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.races import race
from tests.store.rows import call, outcome

pytestmark = pytest.mark.django_db(transaction=True)

BULK, ROUNDS, PRODUCERS, WORKERS = 50, 6, 2, 3
TOTAL = BULK * ROUNDS * PRODUCERS
PATIENCE = 1200  # turns of each loop; far more than are needed


def test_a4_enqueue_claim_promote_and_prune_do_not_hurt_each_other(store: Store, new_owner: Callable[..., Owner]):
    """A4."""
    claimed: list[int] = []

    def until_all_are_claimed(turn: Callable[[], object]) -> None:
        for _ in range(PATIENCE):
            if len(claimed) >= TOTAL:
                return
            turn()
            threading.Event().wait(0.01)

    def produce() -> None:
        for _ in range(ROUNDS):
            due = store.now() + timedelta(milliseconds=50)
            store.enqueue_many([call(run_after=due if number % 2 else None) for number in range(BULK)])

    def serve(owner: Owner) -> None:
        tasks = store.claim(owner, 20)
        claimed.extend(task.id for task in tasks)
        store.ack([(task, outcome(Kind.SUCCESSFUL if task.id % 5 else Kind.FAILED)) for task in tasks])

    race(
        *[produce] * PRODUCERS,
        *[partial(until_all_are_claimed, partial(serve, new_owner(f"w{number}"))) for number in range(WORKERS)],
        partial(until_all_are_claimed, store.promote),
        partial(until_all_are_claimed, lambda: store.prune({"successful": 0, "failed": 0})),
    )
    assert len(claimed) == len(set(claimed)) == TOTAL
