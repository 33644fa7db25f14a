"""Trouble of ours inside of a transaction of the project's."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from django.db import connections, transaction


@contextmanager
def savepoints() -> Iterator[None]:
    """Make a savepoint in each transaction that is open in this thread.

    In one of the caller's a statement that fails would make PostgreSQL refuse all that follows.
    """
    with ExitStack() as stack:
        for connection in connections.all(initialized_only=True):
            if connection.in_atomic_block:
                stack.enter_context(transaction.atomic(using=connection.alias))
        yield
