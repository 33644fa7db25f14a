"""The orderings of the task lists: each is that of an index in ``models/task.py``, and there are no others."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import F, Lookup, Q, Value
from django.db.models.functions import Concat

from django_locqueue.models.indexes import IsOpen, IsOpenOfAKind
from django_locqueue.models.task import FINISHED as FINISHED_STATES

READY = ("queue_name", "-priority", "run_after", "id")  # within a queue: as workers take them
SCHEDULED = ("run_after", "id")
LIMITED = ("queue_name", "limit_key", "-priority", "run_after", "id")  # within a line: as workers take them
RUNNING = ("worker_id", "id")
FINISHED = ("-finished_at", "-id")
NEWEST = ("-id",)
WORKFLOW = ("step", "id")  # of the tasks of one workflow

COMMON = ("queue_name", "limit_key", "priority", "worker_id", "step")  # columns that many rows in a row have in common


class IsFinished(Lookup):
    """The condition of the index of finished tasks, in its words: SQLite uses a partial index only when asked in them.

    Written out, since SQLite does not compare the parameters of an IN list with the index's.
    """

    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, Any]:
        sql, params = compiler.compile(self.lhs)
        states = ", ".join(f"'{state}'" for state in FINISHED_STATES)
        return f"{sql} IN ({states})", params


def in_finished_index(rows: Any) -> Any:
    """Let the rows be read from the index of finished tasks. They are narrowed to a state by the caller."""
    return rows.filter(IsFinished(F("state"), True))


def in_open_index(rows: Any) -> Any:
    """Return the failed tasks that nobody has dismissed, to be read from their index."""
    return rows.filter(IsOpen(F("state"), F("dismissed")))


def in_error_index(rows: Any, group: Any) -> Any:
    """Return those of one kind of error, to be read from their index."""
    return rows.filter(IsOpenOfAKind(F("state"), F("dismissed")), error_group_id=group)


def with_state(rows: Any, state: str) -> Any:
    """Narrow rows that another index than the state's holds.

    By an expression that matches no index: with the statistics of an empty table PostgreSQL would rather read and sort
    all rows of the state.
    """
    return rows.alias(_state=Concat(F("state"), Value(""))).filter(_state=state)


def names(ordering: Sequence[str]) -> list[str]:
    return [part.lstrip("-") for part in ordering]


def order_by(ordering: Sequence[str]) -> str:
    """Return an ordering in SQL."""
    parts = (f"{part[1:]} DESC" if part.startswith("-") else part for part in ordering)
    return f"ORDER BY {', '.join(parts)}"


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


def not_beyond(ordering: Sequence[str], row: Mapping[str, Any], first: Mapping[str, Any] | None = None) -> Q:
    """Return a condition for the rows from ``first`` to ``row`` at which an index of this ordering stops.

    It goes by the columns that both have in common, and the next one: a few rows more may match.
    """
    found = Q()
    for part, name in zip(ordering, names(ordering), strict=True):
        if first is None or row[name] != first[name]:
            return found & Q(**{f"{name}__{'gte' if part.startswith('-') else 'lte'}": row[name]})
        found &= Q(**{name: row[name]})
    return found
