"""When a schedule runs: a cron rule in a time zone, or every so many seconds. Pure functions over instants in UTC."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Protocol
from zoneinfo import ZoneInfo, available_timezones

from django.utils import timezone as project_timezone
from django.utils.translation import gettext as _

from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.policies.numbers import is_whole
from django_locqueue.scheduler.cron import Cron, cron_of

LONGEST_SECONDS = 366 * 86_400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Rule(Protocol):
    def after(self, moment: datetime) -> datetime | None:
        """Return the first time after ``moment`` (aware), in UTC; None if there is none any more."""


@dataclass(frozen=True, slots=True)
class Every:
    """Every ``seconds``, counted from 1970: all workers name the same times, and a restart moves none."""

    seconds: int

    def after(self, moment: datetime) -> datetime | None:
        step = timedelta(seconds=self.seconds)
        return EPOCH + ((moment - EPOCH) // step + 1) * step


def rule_of(cron: str = "", every: int | None = None, timezone: str = "") -> Cron | Every:
    """Return the rule. ``timezone``: a name, empty for the project's.

    Raises :class:`InvalidSchedule`, which names the field that is wrong.
    """
    zone = zone_of(timezone)
    if bool(cron) == (every is not None):
        both = _("is given beside every: leave one of the two out.")
        raise InvalidSchedule("cron", both if cron else _("is missing: give a rule, or every."))
    if every is None:
        return cron_of(cron, zone)
    if not is_whole(every, 1, LONGEST_SECONDS):
        wanted = f"a whole number of seconds from 1 to {LONGEST_SECONDS:,}"
        raise InvalidSchedule("every", f"must be {wanted}, got {every!r:.80}.")
    return Every(every)


def zone_of(name: str) -> ZoneInfo:
    """Return the time zone; of an empty name, the project's. Raises :class:`InvalidSchedule`."""
    if not name:
        default = project_timezone.get_default_timezone()
        return default if isinstance(default, ZoneInfo) else ZoneInfo("UTC")
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError, TypeError):  # "America" is a folder
        close = get_close_matches(str(name), available_timezones(), n=1) or ["Asia/Shanghai"]
        said = _("“%(name)s” is not the name of a time zone. One is “%(close)s”.")
        raise InvalidSchedule("timezone", said % {"name": name, "close": close[0]}) from None
