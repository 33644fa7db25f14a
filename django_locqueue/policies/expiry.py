"""When it is too late to start a task: by its own ``expires``, or since no worker knows its definition."""

from datetime import datetime, timedelta

from django_locqueue.exceptions import Expired
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome

# Until the next look for the definition.
FIRST_SECONDS = 10.0  # longer than it takes to put a thousand of them back: the others have their turn in between
LONGEST_SECONDS = 300.0


def expired(expires: float | None, *, could_start: datetime, begins: datetime) -> Outcome | None:
    """Return the end of a task that begins more than ``expires`` seconds after it could; None if it is in time.

    Both times are the database's.
    """
    if expires is None or begins - could_start <= timedelta(seconds=expires):
        return None
    late = (begins - could_start).total_seconds()
    error = Expired(f"expired: it was to start within {expires:g} s, and a worker took it after {late:.0f} s")
    return Outcome(Kind.CANCELLED, error=ErrorReport.of(error), exception=error)


def wait_for_definition(met_for: float, limit: float) -> float | None:
    """Return the seconds until the next look for a definition that no worker knows: another version of the code may.

    None: it is too long ago that a worker first met it. ``met_for``: the seconds since then. ``limit``: how many there
    may be. As long again as it has waited, so that a thousand such tasks are looked at a dozen times each in an hour,
    and hold up nobody.
    """
    if met_for >= limit:
        return None
    return min(max(FIRST_SECONDS, met_for), LONGEST_SECONDS, limit - met_for)
