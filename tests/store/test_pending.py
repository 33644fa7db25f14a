"""How many tasks of a queue wait, counted no further than is asked for."""

import pytest

from django_locqueue.store import Store, store_for
from tests.store.rows import put_many

pytestmark = pytest.mark.django_db


@pytest.fixture
def store() -> Store:
    return store_for("default")


def test_an_empty_queue_has_none(store: Store) -> None:
    assert store.count_pending("default", 10) == 0


def test_ready_tasks_of_the_queue_are_counted(store: Store) -> None:
    put_many(3, "ready")
    put_many(2, "ready", queue_name="mail")
    assert store.count_pending("default", 10) == 3


def test_tasks_that_wait_under_a_limit_are_counted(store: Store) -> None:
    put_many(3, "blocked", limit_key="c:shop")
    put_many(2, "blocked", limit_key="c:shop", queue_name="mail")
    put_many(1, "ready")
    assert store.count_pending("default", 10) == 4


@pytest.mark.parametrize("state", ["scheduled", "running", "successful", "failed", "cancelled"])
def test_others_are_not(store: Store, state: str) -> None:
    put_many(3, state, limit_key="c:shop")
    assert store.count_pending("default", 10) == 0


def test_a_step_behind_another_is_not(store: Store) -> None:
    put_many(3, "blocked")
    assert store.count_pending("default", 10) == 0


def test_it_is_counted_no_further_than_asked_for(store: Store) -> None:
    put_many(8, "ready")
    put_many(8, "blocked", limit_key="c:shop")
    assert store.count_pending("default", 5) == 5
