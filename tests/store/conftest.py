"""The store under test, and workers that claim."""

from collections.abc import Callable

import pytest
from django.db import connection

from django_locqueue.store import Store, store_for
from django_locqueue.store.serve import Owner
from tests.store.rows import NOW, owner_of


@pytest.fixture
def store(db: None) -> Store:
    return store_for("default")


@pytest.fixture
def new_owner(store: Store) -> Callable[..., Owner]:
    """Return a function that registers a live worker: ``new_owner("other")``."""

    def register(name: str = "worker", *, lease: float = 30) -> Owner:
        return owner_of(store.register_worker(name, lease=lease, now=NOW))

    return register


@pytest.fixture
def owner(new_owner: Callable[..., Owner]) -> Owner:
    return new_owner("first")


@pytest.fixture
def other(new_owner: Callable[..., Owner]) -> Owner:
    return new_owner("second")


@pytest.fixture
def needs_row_locks(db: None) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time and no row locks")


@pytest.fixture
def needs_postgresql(db: None) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("PostgreSQL only")
