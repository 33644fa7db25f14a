"""The queue's rate for calls that are to be some seconds apart."""

from math import ceil

# What the queue promises of a rate is how many start in a period. Its claims come evenly, (period + lag) / limit apart,
# and a start follows its claim within the lag: a twentieth of the period, a quarter of a second at most.
LAG_SHARE = 1 / 20
LONGEST_LAG_SECONDS = 0.25
PERIODS = (1, 60)  # seconds that are tried; besides, the gap itself


def rate_of(gap: float) -> str:
    """Return the greatest rate whose starts are at least ``gap`` seconds apart: ``7/1s`` for 0.1.

    It is less than one start per gap, by what a start may lag behind; from a second on nearly all of it.
    """

    def starts(period: int) -> int:
        lag = min(period * LAG_SHARE, LONGEST_LAG_SECONDS)
        return int((period + lag) / (gap + lag) + 1e-9)  # 1.05 / 0.15 is 6.999…

    period = max(*PERIODS, max(1, ceil(gap)), key=lambda seconds: starts(seconds) / seconds)
    return f"{starts(period)}/{period}s"
