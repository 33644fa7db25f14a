"""A clock that goes on when a test tells it."""


class StoppedClock:
    """Stands in for the module ``time``, of which it has ``monotonic``."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now
