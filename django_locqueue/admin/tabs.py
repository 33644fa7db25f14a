"""The parts of a task list: each shows one listing, in its order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django_locqueue.models.listing import LISTINGS, Listing


@dataclass(frozen=True)
class Tab:
    """One part of a list. ``name``: in the address. ``listing``: of ``LISTINGS``.

    ``changes``: names of what can be done to rows here. ``columns``: other ones than the page's. ``refresh``: after
    how many seconds the page shows its rows as they are then; 0: only when a person asks, since boxes are ticked there.
    """

    name: str
    listing: str
    label: Any
    changes: tuple[str, ...]
    empty: Any
    columns: tuple[str, ...] = ()
    refresh: int = 0

    @property
    def kind(self) -> Listing:
        return LISTINGS[self.listing]

    @property
    def counted(self) -> Callable[[Any], Any] | None:
        """What to count for its label; None if only reading rows would tell."""
        kind = self.kind
        if kind.narrowed is not None:
            return None
        return lambda rows: kind.rows(rows).order_by(*kind.ordering)
