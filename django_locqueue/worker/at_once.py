"""What a task says to the queue from within its own transaction, and what must not wait for the end of that."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from django.db import connections

from django_locqueue.store import Store

R = TypeVar("R")


def at_once(store: Store, verb: Callable[[], R]) -> R:
    """Return what a verb of the store returns. It is committed then, also if this thread is in a transaction.

    Within that transaction it would keep its rows locked until the end, and a rollback would take it back. Raises
    RuntimeError on SQLite, where it would wait for that transaction, which waits for it.
    """
    connection = store.connection
    if connection.get_autocommit() and not connection.in_atomic_block:
        return verb()
    if any(block._from_testcase for block in connection.atomic_blocks):  # there nothing is ever committed
        return verb()
    if connection.vendor == "sqlite":
        raise RuntimeError(
            "Not within a transaction: SQLite has one writer at a time, and nothing would start under this rate until "
            "the transaction has ended. Call it before or behind, or raise Retry(after=...)."
        )
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_closed_after, verb).result()


def _closed_after(verb: Callable[[], R]) -> R:
    try:
        return verb()
    finally:
        connections.close_all()
