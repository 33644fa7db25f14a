"""Why a provider did not answer, and how a service's reply says so.

What an answer does not know is no error: it is None (see ``provider.py``).
"""

import datetime
import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from enum import StrEnum
from zoneinfo import ZoneInfo


class GeoError(Exception):
    """A provider cannot answer at all: its file or package is missing or broken, or its settings are wrong.

    ``retry_after``: seconds after which it may be asked again; None if the provider did not say.
    No message holds a key.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotInstalled(GeoError):
    """A package that the provider needs is missing."""

    def __init__(self, what: str, extra: str = "geo") -> None:
        self.what = what
        self.remedy = f"Run: pip install 'django-locqueue[{extra}]'."
        super().__init__(f"{what} {self.remedy}")


class Transient(GeoError):
    """It went wrong this time: no connection, too slow, a fault of the server, an answer that cannot be read."""


class RateLimited(GeoError):
    """Too many calls in a short time. Nothing is wrong with the address: asking waits for ``retry_after``."""


class QuotaExhausted(GeoError):
    """The day's calls are used up. ``retry_after`` is the time to the next midnight where the provider is."""


class ProviderDenied(GeoError):
    """The key or the signature is wrong, or this machine is not on the provider's list. A person must see to it."""


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
