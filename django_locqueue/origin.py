"""Where calls come from, so that a task can be led back to it and it to its tasks."""

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Protocol


class Origin(Protocol):
    """Something in whose course calls are enqueued: to the access log, a request."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """JSON that the metadata of each call gets. The call's own value goes first where both have a key."""
        ...

    def enqueued(self, ids: Iterable[int]) -> None:
        """Learn the ids of tasks that were stored, in a transaction that may yet roll back. May not raise."""
        ...


# A context variable and not a signal: where there is no origin, an enqueue pays one look at it.
current_origin: ContextVar[Origin | None] = ContextVar("locqueue_origin", default=None)
