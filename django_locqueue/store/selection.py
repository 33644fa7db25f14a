"""Which tasks are meant: a listing and conditions. One meaning for the lists, their export, bulk operations and
commands, so that what is changed is what was shown.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from django_locqueue import clock
from django_locqueue.models import State, Task, orderings
from django_locqueue.models.listing import LISTINGS, Listing, by_hand
from django_locqueue.models.task import TaskQuerySet

LONGEST = 255  # characters of a condition; no name that is stored is longer
LONGEST_SEARCH = 200
PERIODS = {"1h": timedelta(hours=1), "24h": timedelta(days=1), "7d": timedelta(days=7)}
ALL_TIME = "all"
DUE = ("now", "1h", "today", "later")
PRIORITIES = {"high": Q(priority__gt=0), "normal": Q(priority=0), "low": Q(priority__lt=0)}
BOOLEANS = {"yes": True, "no": False}
TERM = re.compile(r"(?:(task|queue|worker|error):)?(\S+)")


@dataclass(frozen=True)
class Selection:
    """``listing``: a name of ``LISTINGS``. ``task``, ``queue`` and ``worker`` are whole names, ``error`` the path of an
    exception or its last part, ``group`` the fingerprint of a kind of error, ``limit`` the key of a limit. ``since``
    (inclusive) and ``until`` are of the listing's time. ``search``: words as in ``TERM``, each the beginning of a name.
    ``upper_id``: no later task.

    Raises ValueError, in words for people, for what no selection can be.
    """

    listing: str
    queue: str = ""
    task: str = ""
    worker: str = ""
    error: str = ""
    group: str = ""
    limit: str = ""
    state: str = ""
    priority: str = ""  # of PRIORITIES
    since: datetime | None = None
    until: datetime | None = None
    retried_by_hand: bool | None = None
    search: str = ""
    workflow: int | None = None
    upper_id: int | None = None

    def __post_init__(self) -> None:
        _one_of("listing", self.listing, LISTINGS)
        if self.state:
            _one_of("state", self.state, State.values)
        if self.priority:
            _one_of("priority", self.priority, PRIORITIES)
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, str) and ("\x00" in value or len(value) > LONGEST):
                raise ValueError(f"{field.name} must be at most {LONGEST} characters without NUL, got {value[:50]!r}.")

    # -- rows

    @property
    def kind(self) -> Listing:
        """The listing; the tasks of a workflow have an order of their own."""
        listing = LISTINGS[self.listing]
        if self.workflow is None:
            return listing
        return replace(listing, ordering=orderings.WORKFLOW, indexed_by_queue=False, indexed_by_error=False)

    @property
    def ordering(self) -> tuple[str, ...]:
        """Without a queue that is asked for: MariaDB sorts where a constant stands in an ORDER BY partly DESC."""
        ordering = self.kind.ordering
        return ordering[1:] if self.queue and self.kind.indexed_by_queue else ordering

    @property
    def scans(self) -> bool:
        """Whether there is a condition that the listing's index does not serve: rows are read that do not match."""
        kind = self.kind
        others = (self.task, self.worker, self.error, self.limit, self.state, self.priority, self.search)
        return (
            kind.narrowed is not None
            or any(others)
            or (bool(self.queue) and not kind.indexed_by_queue)
            or (bool(self.since or self.until) and not kind.indexed_by_time)
            or (bool(self.group) and not kind.indexed_by_error)
            or self.retried_by_hand is not None
        )

    def rows(self, rows: Any = None) -> TaskQuerySet:
        """Return the tasks that are meant, of ``rows`` or of all, in the listing's order."""
        found = self.listed(rows)
        return self.matching(found).order_by(*self.ordering)

    def listed(self, rows: Any = None) -> TaskQuerySet:
        """Return what the listing's index holds and all conditions that it serves: none of these rows is read in vain.

        A large table is gone through by parts of these, each narrowed by :meth:`matching`.
        """
        kind = self.kind
        found: TaskQuerySet = Task.objects.all() if rows is None else rows
        if self.group and kind.indexed_by_error:
            found = orderings.in_error_index(found, self.group)  # in the same order
        else:
            found = kind.rows(found)
        found = found.order_by(*self.ordering)
        if self.workflow is not None:
            found = found.filter(workflow_id=self.workflow)
        if self.queue and kind.indexed_by_queue:
            found = found.filter(queue_name=self.queue)
        if kind.indexed_by_time:
            found = found.filter(self._period())
        if self.upper_id is not None:
            found = found.filter(pk__lte=self.upper_id)
        return found

    def matching(self, rows: TaskQuerySet) -> TaskQuerySet:
        """Narrow rows of :meth:`listed` by the other conditions."""
        kind = self.kind
        if kind.narrowed is not None:
            rows = kind.narrowed(rows)
        if self.state:
            rows = orderings.with_state(rows, self.state)
        if self.retried_by_hand is not None:
            rows = by_hand(rows) if self.retried_by_hand else rows.filter(retried_by="")
        wanted = Q()
        if self.queue and not kind.indexed_by_queue:
            wanted &= Q(queue_name=self.queue)
        if self.group and not kind.indexed_by_error:
            wanted &= Q(error_group_id=self.group)
        if not kind.indexed_by_time:
            wanted &= self._period()
        if self.task:
            wanted &= Q(task_path=self.task)
        if self.worker:
            wanted &= _line("worker_ids", self.worker)
        if self.limit:
            wanted &= Q(limit_key=self.limit)
        if self.error:
            wanted &= Q(error_class=self.error) | Q(error_class__endswith=f".{self.error}")
        if self.priority:
            wanted &= PRIORITIES[self.priority]
        for key, text in self.terms():
            wanted &= _BEGINS[key](text)
        return rows.filter(wanted)

    def terms(self) -> list[tuple[str, str]]:
        """Return what ``search`` asks for: ``(key, beginning of a name)``. A bare word is a task's."""
        return [(key or "task", text) for key, text in TERM.findall(self.search)]

    def _period(self) -> Q:
        bounds = {"gte": self.since, "lt": self.until}
        column = self.kind.time
        return Q(**{f"{column}__{bound}": moment for bound, moment in bounds.items() if moment is not None})

    # -- as text

    def as_json(self) -> dict[str, Any]:
        """Return what is not left at its default, as values of JSON."""
        found = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                found[field.name] = value.isoformat() if isinstance(value, datetime) else value
        return found

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Selection":
        """Return what :meth:`as_json` was asked of. Raises ValueError."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(stored) - known):
            raise ValueError(f"A selection has no {', '.join(unknown)}; it has {', '.join(sorted(known))}.")
        if "listing" not in stored:
            raise ValueError("A selection names its listing.")
        times = {name: _moment(name, str(stored[name])) for name in ("since", "until") if name in stored}
        return cls(**{**stored, **times})

    @classmethod
    def from_query(
        cls, query: Mapping[str, str], *, listing: str = "", now: Callable[[], datetime] = timezone.now
    ) -> "Selection":
        """Return what the address of a list (or a command's ``--filter``) asks for. Raises ValueError.

        ``query``: the fields' own names, with ``last`` (of ``PERIODS``, or ``all``), ``due`` (of ``DUE``), ``q`` (the
        search) and ``by_hand`` (``yes``, ``no``). Other keys are somebody else's.
        """
        name = listing or query.get("listing", "")
        _one_of("listing", name, LISTINGS)
        texts = ("queue", "task", "worker", "error", "group", "limit", "state", "priority")
        found: dict[str, Any] = {key: query[key].replace("\x00", "") for key in texts if query.get(key)}
        found["search"] = query.get("q", "").replace("\x00", "").strip()[:LONGEST_SEARCH]
        if query.get("by_hand"):
            _one_of("by_hand", query["by_hand"], BOOLEANS)
            found["retried_by_hand"] = BOOLEANS[query["by_hand"]]
        for key in ("workflow", "upper_id"):
            if query.get(key):
                found[key] = _number(key, query[key])
        named = {key: _moment(key, query[key]) for key in ("since", "until") if query.get(key)}
        is_whole = named or found["search"] or "workflow" in found
        last = query.get("last") or ("" if is_whole else LISTINGS[name].last)
        if last and last != ALL_TIME:
            _one_of("last", last, PERIODS)
            found["since"] = now() - PERIODS[last]
        if query.get("due"):
            found |= _due(query["due"], now())
        return cls(name, **(found | named))


def _one_of(name: str, value: str, known: Any) -> None:
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value[:50]!r}.")


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise ValueError(f"{name} must be a number, got {text[:50]!r}.")
    return int(text)


def _moment(name: str, text: str) -> datetime:
    """Read an ISO time or a day; without a zone it is of the present one."""
    try:
        moment = parse_datetime(text) or parse_datetime(f"{text} 00:00")
    except ValueError:
        moment = None
    if moment is None:
        raise ValueError(f"{name} must be a time such as 2026-11-30T15:00, got {text[:50]!r}.")
    return moment if timezone.is_aware(moment) or not timezone.is_aware(timezone.now()) else timezone.make_aware(moment)


def _due(due: str, now: datetime) -> dict[str, datetime]:
    """Return the bounds of a time to come."""
    _one_of("due", due, DUE)
    tomorrow = (clock.local(now) + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        "now": {"until": now},
        "1h": {"until": now + PERIODS["1h"]},
        "today": {"until": tomorrow},
        "later": {"since": tomorrow},
    }[due]


def _line(column: str, text: str) -> Q:
    """Whether one of the column's lines is ``text``."""
    return (
        Q(**{column: text})
        | Q(**{f"{column}__startswith": f"{text}\n"})
        | Q(**{f"{column}__endswith": f"\n{text}"})
        | Q(**{f"{column}__contains": f"\n{text}\n"})
    )


def _part(column: str, separator: str, text: str) -> Q:
    """Whether the column, or what follows a separator in it, begins with ``text``."""
    return Q(**{f"{column}__startswith": text}) | Q(**{f"{column}__contains": f"{separator}{text}"})


_BEGINS = {
    "task": lambda text: _part("task_path", ".", text),
    "queue": lambda text: Q(queue_name__startswith=text),
    "worker": lambda text: _part("worker_ids", "\n", text),
    "error": lambda text: _part("error_class", ".", text),
}
