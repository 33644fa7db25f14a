"""A schedule as it can run: its rule, its task and the call, out of its row or of a form."""

from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext as _

from django_locqueue.clock import instant, storable
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.models import Schedule
from django_locqueue.scheduler.call import call_of, checked_missed, task_at
from django_locqueue.scheduler.rule import Rule, rule_of


class Planned(NamedTuple):
    rule: Rule
    definition: Any
    call: dict[str, Any]
    next_at: datetime


def planned(schedule: Schedule, now: datetime) -> Planned:
    """Return what a row says, and its first slot after ``now``. Raises :class:`InvalidSchedule` for what cannot run."""
    rule = rule_of(schedule.cron, schedule.every, schedule.timezone)
    checked_missed(schedule.missed)
    definition = task_at(schedule.task_path)
    return Planned(rule, definition, call_in(schedule, definition), storable(still_to_come(rule.after(instant(now)))))


def call_in(schedule: Schedule, definition: Any) -> dict[str, Any]:
    call = schedule.args_kwargs
    if not isinstance(call, dict):  # edited by hand
        call = {}
    return call_of(definition, call.get("args"), call.get("kwargs"))


def still_to_come(moment: datetime | None) -> datetime:
    if moment is None:
        raise InvalidSchedule("cron", _("never matches a date any more."))
    return moment
