"""After an ack whose answer was lost: which outcomes were stored all the same."""

from collections.abc import Callable
from typing import Any

import pytest

from django_locqueue.models import State, Task
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.store import Claimed, Store
from django_locqueue.store.serve import Owner
from tests.store.rows import NOW, claim_one, outcome, running

STORED = {
    Kind.SUCCESSFUL: State.SUCCESSFUL,
    Kind.FAILED: State.FAILED,
    Kind.CANCELLED: State.CANCELLED,
    Kind.RETRIED: State.READY,
    Kind.SNOOZED: State.READY,
    Kind.RELEASED: State.READY,
}


def rescued(store: Store, owner: Owner, task: Claimed) -> None:
    store.stop_worker(owner.id, now=NOW)
    store.rescue(max_crashes=3, now=NOW)


def failed_by_rescue(store: Store, owner: Owner, task: Claimed) -> None:
    store.stop_worker(owner.id, now=NOW)
    store.rescue(max_crashes=1, now=NOW)


def claimed_by_another(store: Store, owner: Owner, task: Claimed) -> None:
    rescued(store, owner, task)
    claim_one(store, Owner(store.register_worker("other", lease=60, now=NOW).pk, "other"), queues=["own"])


def nothing(store: Store, owner: Owner, task: Claimed) -> None:
    """It still runs."""


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("keep_row", [True, False])
def test_an_outcome_that_was_stored_is_confirmed_with_its_state(store: Store, owner: Owner, kind: Kind, keep_row: bool):
    task = running(store, owner)
    ended: list[tuple[Claimed, Outcome]] = [(task, outcome(kind, keep_row=keep_row))]
    written = store.ack(ended, now=NOW)
    assert store.confirm(ended) == written == {task.key: STORED[kind]}


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("meanwhile", [nothing, rescued, failed_by_rescue, claimed_by_another])
def test_one_that_was_not_stored_is_not_confirmed(
    store: Store, owner: Owner, kind: Kind, meanwhile: Callable[..., Any]
):
    task = running(store, owner)
    meanwhile(store, owner, task)
    assert store.confirm([(task, outcome(kind))]) == {}


def test_a_row_that_is_gone_and_was_to_be_kept_is_not_confirmed(store: Store, owner: Owner):
    task = running(store, owner)
    Task.objects.all().delete()
    assert store.confirm([(task, outcome(Kind.SUCCESSFUL))]) == {}
