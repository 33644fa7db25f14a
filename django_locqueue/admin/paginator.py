"""Pages that never count a whole table."""

from typing import Any

from django.core.paginator import Paginator
from django.utils.formats import number_format
from django.utils.functional import cached_property

CAP = 10_000


class CappedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts at most ``cap`` rows; a list that is longer ends there, and says so by ``is_capped``."""

    cap = CAP

    @cached_property
    def _found(self) -> int:
        # Keeps the list's ordering: without it PostgreSQL may scan the table in the hope of finding enough rows
        # early, and find them at its end. In order it reads cap + 1 entries of the index that the page reads anyway.
        rows: Any = self.object_list
        found: int = rows.values("pk")[: self.cap + 1].count()
        return found

    @property
    def is_capped(self) -> bool:
        return self._found > self.cap

    @cached_property
    def count(self) -> int:
        return min(self._found, self.cap)

    @property
    def count_text(self) -> str:
        return capped_text(self._found, self.cap)


def capped_text(found: int, cap: int = CAP) -> str:
    """Return ``312`` or ``10,000+``. ``found``: a count over at most ``cap + 1`` rows."""
    text = number_format(min(found, cap), force_grouping=True)
    return f"{text}+" if found > cap else text
