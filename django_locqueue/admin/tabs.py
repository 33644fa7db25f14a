"""The parts of a task list: each shows what one index holds, in its order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django_locqueue.models.task import TaskQuerySet


@dataclass(frozen=True)
class Tab:
    """One part of a list.

    ``rows``: what the index holds. ``narrowed``: what of it is shown, if the index does not say; then only its first
    ``WINDOW`` rows are looked at. ``changes``: names of what can be done to rows here. ``is_live``: the page keeps its
    rows as they are now.
    """

    name: str
    label: Any
    rows: Callable[[TaskQuerySet], TaskQuerySet]
    ordering: tuple[str, ...]
    changes: tuple[str, ...]
    empty: Any
    narrowed: Callable[[TaskQuerySet], TaskQuerySet] | None = None
    indexed_by_queue: bool = False
    is_live: bool = False


WINDOW = 100_000
