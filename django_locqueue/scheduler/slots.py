"""Which slots of a schedule are to be run now: those that have come, and of those that were missed what is wanted.

A slot is a time that the schedule's rule names. All that is done here is bounded, however long nobody looked.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from django_locqueue.scheduler.rule import Rule

ON_TIME = timedelta(seconds=60)  # a slot that is found within this time was not missed
MOST_CAUGHT_UP = 100  # slots that "all" runs at once: the latest
OLDEST = timedelta(days=3660)  # what was missed before is not looked for
WINDOWS_GROW = 8  # fold


class Due(NamedTuple):
    slots: list[datetime]  # to be run, the oldest first
    next_at: datetime | None  # the first that is still to come; None: the rule names none any more


def due_slots(rule: Rule, first: datetime, now: datetime, missed: str) -> Due:
    """Return what to run of the slots from ``first`` to ``now``, both aware, in UTC.

    ``missed``: ``once``: the latest of them. ``all``: each, of more than 100 the latest 100. ``skip``: the latest if it
    is no older than a minute.
    """
    slots = latest_slots(rule, first, now, MOST_CAUGHT_UP if missed == "all" else 1)
    if missed == "skip":
        slots = [slot for slot in slots if now - slot <= ON_TIME]
    return Due(slots, rule.after(now))


def latest_slots(rule: Rule, first: datetime, now: datetime, most: int) -> list[datetime]:
    """Return the latest ``most`` slots from ``first`` to ``now``.

    Looked for in windows that grow backwards from now: what a rule of each minute has missed in a year is not
    counted up.
    """
    first = max(first, now - OLDEST)
    window = ON_TIME
    while True:
        begin = max(first, now - window)
        slots = _between(rule, begin, now)
        if len(slots) >= most or begin == first:
            return slots[-most:]
        window *= WINDOWS_GROW


def _between(rule: Rule, begin: datetime, end: datetime) -> list[datetime]:
    slots: list[datetime] = []
    slot = rule.after(begin - timedelta(microseconds=1))
    while slot is not None and slot <= end:
        slots.append(slot)
        slot = rule.after(slot)
    return slots


def next_slots(rule: Rule, now: datetime, count: int = 5) -> list[datetime]:
    """Return the next ``count`` slots, fewer if there are no more."""
    slots: list[datetime] = []
    slot = rule.after(now)
    while slot is not None and len(slots) < count:
        slots.append(slot)
        slot = rule.after(slot)
    return slots
