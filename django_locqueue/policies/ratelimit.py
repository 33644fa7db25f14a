"""How many tasks may start in a time: "10/s" as numbers, and the token bucket that keeps to them. Pure functions.

A bucket of ``burst`` tokens, one more each ``interval``, gives in a time W at most burst + ⌈W / interval⌉ − 1. What it
gives is a claim, and a start follows within ``lag``; so the starts of a period come from claims of period + lag, and
with interval = (period + lag) / (limit − burst + 1) they are never more than the limit, whichever period one looks at.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from math import ceil
from typing import Any, NamedTuple

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}  # seconds
MOST_STARTS = 1_000_000
LONGEST_PERIOD_SECONDS = 366 * 86_400

LAG_SHARE = 0.05  # of the period: what is given up of the rate, so that a start need not follow its claim at once
LONGEST_LAG_SECONDS = 0.25
BURST_SECONDS = 0.05  # of starts in one claim: a fast rate is not claimed one by one
CLOCK_SECONDS = 1.0  # a bucket that is emptier than it can be by more than this: the clock was set back

_RATE = re.compile(r"([0-9]{1,9})/([0-9]{0,9})(s|m|min|h|d)", re.ASCII)


@dataclass(frozen=True)
class Rate:
    """At most ``limit`` starts in any ``seconds``."""

    limit: int
    seconds: float

    @classmethod
    def parse(cls, text: Any) -> "Rate":
        """Read "10/s", "100/5m". Raises ValueError with what was expected."""
        match = _RATE.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise ValueError(f'must be starts per time, such as "10/s", "100/5m", "1000/h" or "20/d", got {text!r}.')
        starts, number, unit = match.groups()
        rate = cls(int(starts), float(int(number or 1) * UNITS[unit]))
        if not 1 <= rate.limit <= MOST_STARTS:
            raise ValueError(f"must allow 1 to {MOST_STARTS:,} starts, got {text!r}.")
        if not 1 <= rate.seconds <= LONGEST_PERIOD_SECONDS:
            raise ValueError(f"must be for a time from one second to 366 days, got {text!r}.")
        return rate

    def __str__(self) -> str:
        unit = next((each for each in ("d", "h", "m") if not self.seconds % UNITS[each]), "s")
        number = self.seconds / UNITS[unit]
        return f"{self.limit}/{'' if number == 1 else f'{number:g}'}{unit}"

    @cached_property
    def lag(self) -> float:
        """Seconds within which a start has to follow its claim."""
        return min(self.seconds * LAG_SHARE, LONGEST_LAG_SECONDS)

    @cached_property
    def burst(self) -> int:
        """Tokens that the bucket holds: what may start at once after a rest."""
        return max(1, int(self.limit / self.seconds * BURST_SECONDS))

    @cached_property
    def interval(self) -> timedelta:
        """The time in which a token comes."""
        # Whole microseconds and upwards, as times are stored: nothing is lost by rounding, in sums of any length.
        return timedelta(microseconds=ceil((self.seconds + self.lag) * 1_000_000 / (self.limit - self.burst + 1)))


class Bucket(NamedTuple):
    """``full_at``: when it is full again; None: it is. ``since``: of what was taken before, nothing comes back."""

    full_at: datetime | None = None
    since: datetime | None = None

    def tokens(self, rate: Rate, now: datetime) -> int:
        """Return how many tasks may be claimed now."""
        return max(0, (now + rate.burst * rate.interval - self._from(rate, now)) // rate.interval)

    def take(self, rate: Rate, tokens: int, now: datetime) -> "Bucket":
        start = self._from(rate, now)
        # With one token more it would be full at this moment, and run over.
        runs_over = start - rate.interval < now
        return Bucket(start + tokens * rate.interval, now if runs_over else self.since)

    def give_back(self, rate: Rate, taken_at: datetime, now: datetime) -> "Bucket":
        """Return the bucket as if one token had not been taken at ``taken_at``, or as it is if that cannot be.

        Had the token stayed, a later claim would have met a full bucket, and what comes to that runs over: then another
        token stands in its place already. Nor can it be known of one that was taken before another came back.
        """
        if self.full_at is None or (self.since is not None and taken_at < self.since):
            return self
        return Bucket(self.full_at - rate.interval, now)

    def next_at(self, rate: Rate, now: datetime) -> datetime:
        """Return when it is worth asking: when half of the bucket is full. A time that has passed if it is.

        Of a fast rate, not at the next token: workers that claim one by one get in each other's way, and fall behind.
        """
        return self._from(rate, now) - (rate.burst - max(1, rate.burst // 2)) * rate.interval

    def _from(self, rate: Rate, now: datetime) -> datetime:
        if self.full_at is None or self.full_at <= now:
            return now
        emptied = now + rate.burst * rate.interval
        return emptied if self.full_at > emptied + timedelta(seconds=CLOCK_SECONDS) else self.full_at
