"""The threads on which async tasks do what is synchronous: the ORM, above all."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connections
from django.db.transaction import TransactionManagementError

from django_locqueue.connections import clean_connections, close_cut_connections, close_old_connections
from django_locqueue.sessions import watch_this_thread


class Lane(ThreadPoolExecutor):
    """One thread for the thread-sensitive calls of some executions: an execution keeps its lane, a lane is shared.

    So the number of threads and of their connections is bounded, whatever the number of tasks. Calls of different
    executions alternate on its connections, hence no transaction may outlive the call that began it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(max_workers=1, thread_name_prefix=f"locqueue-lane-{number}", initializer=watch_this_thread)
        self.executions = 0  # that are on it at present; the event loop counts
        self._is_used = False  # it has a thread

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self._is_used = True
        return super().submit(_without_transaction, fn, *args, **kwargs)

    def leave(self) -> None:
        """An execution has ended. After the last of a burst: what ``CONN_MAX_AGE`` says."""
        self.executions -= 1
        if not self.executions and self._is_used:
            super().submit(close_old_connections)

    def close(self) -> None:
        """End the thread and its connections after the call that it is in; do not wait for it."""
        if self._is_used:
            super().submit(connections.close_all)
        self.shutdown(wait=False)


class OtherThreads(ThreadPoolExecutor):
    """The event loop's other threads, for ``asyncio.to_thread``. Nobody comes back to one, so no connection stays."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="locqueue-to-thread")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return super().submit(_without_connection, fn, *args, **kwargs)


def _without_transaction(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    left: list[str] = []
    close_cut_connections()
    try:
        result = call(*args, **kwargs)
    finally:
        left = [each.alias for each in connections.all(initialized_only=True) if _is_in_transaction(each)]
        clean_connections()
    if left:
        raise TransactionManagementError(
            f"A transaction on {', '.join(map(repr, left))} was left open and is rolled back: in an async task it must "
            "begin and end within one function. Put the work and its atomic() into one, and await sync_to_async of it."
        )
    return result


def _is_in_transaction(connection: Any) -> bool:
    return connection.connection is not None and (connection.in_atomic_block or not connection.autocommit)


def _without_connection(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    try:
        return call(*args, **kwargs)
    finally:
        connections.close_all()
