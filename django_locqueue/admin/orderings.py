"""The orderings of the task lists: each is that of an index in ``models/task.py``, and there are no others."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

READY = ("queue_name", "-priority", "run_after", "id")  # within a queue: as workers take them
SCHEDULED = ("run_after", "id")
RUNNING = ("worker_id", "id")
FINISHED = ("-finished_at", "-id")
NEWEST = ("-id",)


def names(ordering: Sequence[str]) -> list[str]:
    return [part.lstrip("-") for part in ordering]


def is_descending(ordering: Sequence[str]) -> bool:
    return ordering[0].startswith("-")


def behind(ordering: Sequence[str], row: Mapping[str, Any]) -> Q:
    """Return the condition for the rows that come after ``row``."""
    found, equal = Q(), Q()
    for part, name in zip(ordering, names(ordering), strict=True):
        found |= equal & Q(**{f"{name}__{'lt' if part.startswith('-') else 'gt'}": row[name]})
        equal &= Q(**{name: row[name]})
    # The second condition says nothing new, but gives the index a place to start.
    return found & Q(
        **{f"{names(ordering)[0]}__{'lte' if is_descending(ordering) else 'gte'}": row[names(ordering)[0]]}
    )


def not_beyond(ordering: Sequence[str], row: Mapping[str, Any]) -> Q:
    """Return the condition for the rows that by the first column of ``ordering`` do not come after ``row``."""
    name = names(ordering)[0]
    return Q(**{f"{name}__{'gte' if is_descending(ordering) else 'lte'}": row[name]})
