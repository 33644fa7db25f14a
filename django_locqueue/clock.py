"""One clock: the database's.

Due times and leases are judged where all workers meet, so that a machine whose clock is wrong starts nothing early
and takes nothing from the living. Store methods take ``now=None`` and use :class:`DatabaseNow` then; a test
passes a datetime. Waiting uses ``time.monotonic()``.

Tests of a project's own code put this clock forward (``testing.travel``): all that the queue asks it goes by that time.
"""

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db.models import DateTimeField, Func
from django.utils import timezone

# What a row edited by hand is read as when it holds a time that Python cannot: infinity, the year 20000, 0000-00-00. A
# day within what a datetime can be, for the sake of time zones.
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 30, tzinfo=UTC)


_ahead_seconds = 0.0  # what `put_forward` has added, in tests


def put_forward(seconds: float) -> None:
    """Let the database's clock be ``seconds`` ahead (behind, if negative) for this process; 0 is the real time."""
    global _ahead_seconds
    _ahead_seconds = seconds


def seconds_ahead() -> float:
    return _ahead_seconds


class DatabaseNow(Func):
    """The database's time at the start of the statement, in the form in which Django stores datetimes.

    Not Django's ``Now()``: that is the session's time zone on MySQL, and has another number of digits than stored
    values on SQLite, where datetimes are compared as text.
    """

    arity = 0
    output_field = DateTimeField()

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **extra: Any) -> tuple[str, tuple[Any, ...]]:
        return now_sql(connection), ()


def now_sql(connection: Any) -> str:
    """Return the SQL of the database's present time for a raw statement (``%`` doubled, as execute wants it)."""
    if connection.vendor == "postgresql":
        # Not now(): inside a long transaction that stands still.
        now = "STATEMENT_TIMESTAMP()"
        return f"({now} + INTERVAL '{_ahead_seconds:.6f} seconds')" if _ahead_seconds else now
    offset = _stored_offset_seconds(connection) + _ahead_seconds
    if connection.vendor == "sqlite":
        # Times are compared as text, and Django writes a whole second without a fraction.
        time = f"STRFTIME('%%Y-%%m-%%d %%H:%%M:%%f000', 'now', '{offset:+.3f} seconds')"
        return f"REPLACE({time}, '.000000', '')"
    return f"(UTC_TIMESTAMP(6) + INTERVAL {offset:.6f} SECOND)"


def bounded_sql(connection: Any, sql: str) -> str:
    """Return SQL of a time, with what Python cannot read brought into its bounds. SQLite's driver reads any text."""
    prefix = {"postgresql": "TIMESTAMPTZ ", "mysql": "TIMESTAMP"}.get(connection.vendor)
    if prefix is None:
        return sql
    first, last = (f"{prefix}'{at:0>4}-{rest} 00:00:00'" for at, rest in ((1, "01-02"), (9999, "12-30")))
    return f"CASE WHEN {sql} < {first} THEN {first} WHEN {sql} > {last} THEN {last} ELSE {sql} END"


def _stored_offset_seconds(connection: Any) -> int:
    """Seconds from UTC to the zone in which these databases store naive times."""
    zone = connection.timezone if settings.USE_TZ else timezone.get_default_timezone()
    offset = datetime.now(zone).utcoffset()
    return int(offset.total_seconds()) if offset else 0


def storable(value: datetime) -> datetime:
    """Return ``value`` aware or naive as ``USE_TZ`` wants it; the instant stays the same."""
    if settings.USE_TZ:
        return value if timezone.is_aware(value) else timezone.make_aware(value)
    return timezone.make_naive(value, timezone.get_default_timezone()) if timezone.is_aware(value) else value


def instant(value: datetime) -> datetime:
    """Return a time of a row in UTC. A naive one is in the project's time zone."""
    aware = value if timezone.is_aware(value) else timezone.make_aware(value, timezone.get_default_timezone())
    return aware.astimezone(UTC)


def local(value: datetime) -> datetime:
    """Return a time of a row in the time zone that is active; a naive one as it is."""
    return timezone.localtime(value) if timezone.is_aware(value) else value


def timestamp(value: datetime) -> float:
    """Return the seconds from 1970 in UTC to a time of the database."""
    return instant(value).timestamp()


def from_timestamp(seconds: float) -> datetime:
    return storable(datetime.fromtimestamp(seconds, UTC))


def floor(value: datetime, seconds: int) -> datetime:
    """Return the start of the span of ``seconds`` that ``value`` is in; spans are counted from 1970 in UTC."""
    return from_timestamp(timestamp(value) // seconds * seconds)
