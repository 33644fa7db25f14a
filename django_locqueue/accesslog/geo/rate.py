"""The queue's rate for calls that are to be some seconds apart."""

from math import ceil

# What the queue promises of a rate is how many start in a period. Its claims come evenly, (period + lag) / limit apart,
# and a start follows its claim within the lag: a twentieth of the period, a quarter of a second at most.
LAG_SHARE = 1 / 20
LONGEST_LAG_SECONDS = 0.25
TRAVEL_SECONDS = 0.05  # one call may take so much longer than the next to get to the service
PERIODS = (1, 60)  # seconds that are tried; besides, the gap itself

# Calls that may follow each other more closely than a start may lag are not kept apart, but counted by the second.
SHORTEST_GAP_SECONDS = 0.05
MOST_PER_SECOND = 1000


def rate_of(gap: float) -> str:
    """Return the greatest rate whose calls reach a service at least ``gap`` seconds apart: ``5/1s`` for 0.1."""
    if gap < SHORTEST_GAP_SECONDS:
        return f"{int(min(MOST_PER_SECOND, 1 / gap if gap else MOST_PER_SECOND))}/1s"

    def starts(period: int) -> int:
        lag = min(period * LAG_SHARE, LONGEST_LAG_SECONDS)
        return int((period + lag) / (gap + TRAVEL_SECONDS + lag))

    period = max(*PERIODS, ceil(gap + TRAVEL_SECONDS), key=lambda seconds: starts(seconds) / seconds)
    return f"{starts(period)}/{period}s"
