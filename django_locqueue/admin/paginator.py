"""Pages that never count a whole table."""

from collections.abc import Mapping
from typing import Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

from django_locqueue.observability.stats import CAP, capped_counts, capped_text


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts at most ``cap`` rows; a list that is longer ends there, and says so by ``is_capped``."""

    cap = CAP
    besides: Mapping[str, Any] = {}  # other rows that are counted by the same statement, see `counts`

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many rows were found, and those ``besides`` by their names."""
        rows: Any = self.object_list  # in the list's ordering: the page reads the same index anyway
        return capped_counts({"": rows, **self.besides}, self.cap)

    @property
    def _found(self) -> int:
        return self.counts[""]

    @property
    def is_capped(self) -> bool:
        return self._found > self.cap

    @cached_property
    def count(self) -> int:
        return min(self._found, self.cap)

    @property
    def count_text(self) -> str:
        return capped_text(self._found, self.cap)
