"""Cron rules: five fields in a time zone. The arithmetic is cronsim's, which reads them as Debian's cron does."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_locqueue.exceptions import InvalidSchedule

FIELDS = (
    gettext_lazy("minute"),
    gettext_lazy("hour"),
    gettext_lazy("day of month"),
    gettext_lazy("month"),
    gettext_lazy("day of week"),
)
LONGEST = 200  # characters
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)
# Whether a rule ever matches is judged from here, so that the answer is the same on each day.
REFERENCE = datetime(2001, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Cron:
    """A rule that :func:`cron_of` has looked at.

    Where clocks are put forward, a time that is left out comes right after the gap; where they are put back, a time
    comes once. But a rule whose minute or hour begins with ``*`` goes by the clock on the wall: it runs again in the
    hour that comes twice, and is left out in one that does not come.
    """

    text: str
    zone: ZoneInfo

    def after(self, moment: datetime) -> datetime | None:
        """Return the first time after ``moment`` (aware), in UTC; None if there is none in the next fifty years."""
        fields = self.text.split()
        if fields[0].startswith("*") or fields[1].startswith("*"):
            return self._after_by_the_wall(moment)
        for found in CronSim(self.text, moment.astimezone(self.zone)):
            at = found.astimezone(UTC)
            if at > moment:  # in the second pass of an hour that comes twice, cronsim names times of the first
                return at
        return None

    def _after_by_the_wall(self, moment: datetime) -> datetime | None:
        """Ask cronsim from one change of the clock to the next, where the clock only goes on.

        By itself it loses half an hour after a change of half an hour, and takes a midnight that is left out for one.
        """
        begin, start = moment, moment
        while True:
            offset = self._offset(begin)
            found = next(CronSim(self.text, start.astimezone(timezone(offset))), None)
            if found is None:
                return None
            at = found.astimezone(UTC)
            change = self._first_change(begin, at, offset)
            if change is None:
                return at
            begin, start = change, change - SECOND

    def _first_change(self, begin: datetime, end: datetime, offset: timedelta) -> datetime | None:
        """Return when the zone's offset changes between the two; None if it does not."""
        while begin < end:
            later = min(begin + DAY, end)
            if self._offset(later) != offset:
                while later - begin > SECOND:
                    middle = begin + (later - begin) / 2
                    begin, later = (middle, later) if self._offset(middle) == offset else (begin, middle)
                return later.replace(microsecond=0)
            begin = later
        return None

    def _offset(self, moment: datetime) -> timedelta:
        return moment.astimezone(self.zone).utcoffset() or timedelta(0)


def cron_of(text: str, zone: ZoneInfo) -> Cron:
    """Return the rule. Raises :class:`InvalidSchedule` for what is malformed, and for dates that never come."""
    if not isinstance(text, str) or len(text) > LONGEST:
        raise InvalidSchedule("cron", f"must be a text of at most {LONGEST} characters, got {text!r:.80}.")
    fields = text.split()
    if len(fields) != len(FIELDS):
        said = _("must have five fields (minute, hour, day of month, month, day of week), got %(count)s: “%(text)s”.")
        raise InvalidSchedule("cron", said % {"count": len(fields), "text": text})
    rule = Cron(" ".join(fields), zone)
    if not _is_well_formed(rule.text):
        wrong = next(
            (name for position, name in enumerate(FIELDS) if not _is_well_formed(_alone(fields, position))), None
        )
        if wrong is None:  # each is right for itself, and no month has this day
            raise _never(text)
        said = _("is malformed: “%(text)s”. Look at the %(field)s.")
        raise InvalidSchedule("cron", said % {"text": text, "field": wrong})
    if rule.after(REFERENCE) is None:
        raise _never(text)
    return rule


def _never(text: str) -> InvalidSchedule:
    return InvalidSchedule("cron", _("never matches a date: “%(text)s”.") % {"text": text})


def _alone(fields: list[str], position: int) -> str:
    """Return a rule that has one of the fields."""
    return " ".join(field if each == position else "*" for each, field in enumerate(fields))


def _is_well_formed(text: str) -> bool:
    try:
        CronSim(text, REFERENCE)
    except CronSimError:
        return False
    return True
