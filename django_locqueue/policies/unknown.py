"""How long a task waits whose definition no worker knows: another version of the code may."""

FIRST_SECONDS = 10.0  # longer than it takes to put a thousand of them back: the others have their turn in between
LONGEST_SECONDS = 300.0


def wait(met_for: float, limit: float) -> float | None:
    """Return the seconds until the next look; None: it is too long ago that a worker first met it.

    ``met_for``: the seconds since then. ``limit``: how many there may be. As long again as it has waited, so that a
    thousand such tasks are looked at a dozen times each in an hour, and hold up nobody.
    """
    if met_for >= limit:
        return None
    return min(max(FIRST_SECONDS, met_for), LONGEST_SECONDS, limit - met_for)
