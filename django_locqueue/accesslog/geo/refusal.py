"""What a service's refusal means, and how long to leave it alone."""

import datetime
import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import StrEnum
from zoneinfo import ZoneInfo

from django_locqueue.accesslog.geo.errors import GeoError, ProviderDenied, QuotaExhausted, RateLimited

LONGEST = 86_400.0  # seconds; nobody is left alone for longer, whatever the answer says


class Refusal(StrEnum):
    """``SECOND``, ``MINUTE``, ``DAY``: the calls of that span are used up. ``DENIED``: the key, or this machine, may
    not ask. ``UNKNOWN``: it has no place for the address."""

    SECOND = "second"
    MINUTE = "minute"
    DAY = "day"
    DENIED = "denied"
    UNKNOWN = "unknown"


def error_of(refusal: Refusal, message: str, asked_for: float | None, time_zone: str) -> GeoError:
    """Return the error to raise.

    ``asked_for``: the seconds that the service named. ``time_zone``: where its days end.
    """
    match refusal:
        case Refusal.DENIED:
            return ProviderDenied(message)
        case Refusal.DAY:
            return QuotaExhausted(message, asked_for or until_midnight(datetime.datetime.now(ZoneInfo(time_zone))))
        case _:
            return RateLimited(message, asked_for or (60.0 if refusal is Refusal.MINUTE else 1.0))


def until_midnight(now: datetime.datetime) -> float:
    """Return the seconds to the next midnight of an aware time's zone, through a change of its clocks too."""
    tomorrow = datetime.datetime.combine(now.date() + datetime.timedelta(days=1), datetime.time(), now.tzinfo)
    # As instants: the difference of two times of one zone is that of what their clocks show.
    return (tomorrow.astimezone(datetime.UTC) - now.astimezone(datetime.UTC)).total_seconds()


def retry_after(headers: Mapping[str, str], now: datetime.datetime) -> float | None:
    """Return the seconds of ``Retry-After``, a number or a date; None if it is missing or says nothing."""
    value = headers.get("Retry-After", "")
    seconds = as_seconds(value)
    if seconds is None:
        try:
            until = parsedate_to_datetime(value)
        except (ValueError, OverflowError):
            return None
        until = until if until.tzinfo else until.replace(tzinfo=datetime.UTC)
        seconds = as_seconds(str((until - now).total_seconds()))
    return seconds


def as_seconds(value: str) -> float | None:
    """Return a number of seconds that can be waited; None if the text is none, or it is over."""
    try:
        seconds = float(value)
    except ValueError:
        return None
    return min(seconds, LONGEST) if math.isfinite(seconds) and seconds > 0 else None
