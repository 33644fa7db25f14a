"""Pages that never count a whole table."""

from typing import Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

from django_locqueue.observability.stats import CAP, capped_counts, capped_text


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts at most ``cap`` rows; a list that is longer ends there, and says so by ``is_capped``."""

    cap = CAP

    @cached_property
    def _found(self) -> int:
        rows: Any = self.object_list  # in the list's ordering: the page reads the same index anyway
        return capped_counts({"found": rows}, self.cap)["found"]

    @property
    def is_capped(self) -> bool:
        return self._found > self.cap

    @cached_property
    def count(self) -> int:
        return min(self._found, self.cap)

    @property
    def count_text(self) -> str:
        return capped_text(self._found, self.cap)
