"""The same page with and without the access log, in turns, so that whatever else happens hits both alike."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import quantiles

from testproject.demo.client import Client, Exchange, Visitor

PAGE = "/about/"
WARM_UP = 40
VISITOR = Visitor("127.0.0.1", "django-locqueue demo")


@dataclass(frozen=True)
class Latency:
    """Milliseconds that half, and 95 of 100, of the requests took at most."""

    p50: float
    p95: float

    @classmethod
    def of(cls, seconds: list[float]) -> "Latency":
        cuts = quantiles(seconds, n=100)
        return cls(cuts[49] * 1000, cuts[94] * 1000)


@dataclass(frozen=True)
class Comparison:
    without: Latency
    with_log: Latency
    exchanges: list[Exchange]  # those that the access log has to have


def compare(plain_port: int, logged_port: int, times: int, *, measured: Callable[[], None]) -> Comparison:
    """Ask both servers for the page ``times`` times each, in turns."""
    plain, logged = Client(plain_port), Client(logged_port)
    try:
        for number in range(WARM_UP + times):
            # Who goes first changes: the second finds the processor awake.
            for client in (plain, logged) if number % 2 else (logged, plain):
                client.request(VISITOR, PAGE)
            measured()
    finally:
        plain.close()
        logged.close()
    return Comparison(
        Latency.of([exchange.seconds for exchange in plain.exchanges[WARM_UP:]]),
        Latency.of([exchange.seconds for exchange in logged.exchanges[WARM_UP:]]),
        logged.exchanges,
    )
