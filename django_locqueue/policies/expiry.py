"""When it is too late to start a task."""

from datetime import datetime, timedelta

from django_locqueue.exceptions import Expired
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome


def expired(expires: float | None, *, could_start: datetime, begins: datetime) -> Outcome | None:
    """Return the end of a task that begins more than ``expires`` seconds after it could; None if it is in time.

    Both times are the database's.
    """
    if expires is None or begins - could_start <= timedelta(seconds=expires):
        return None
    late = (begins - could_start).total_seconds()
    error = Expired(f"expired: it was to start within {expires:g} s, and a worker took it after {late:.0f} s")
    return Outcome(Kind.CANCELLED, error=ErrorReport.of(error), exception=error)
