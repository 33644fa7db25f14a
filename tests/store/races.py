"""Several connections at once: each function in a thread of its own, started together."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from django.db import connections

R = TypeVar("R")

MEET_SECONDS = 20


def race(*functions: Callable[[], Any]) -> list[Any]:
    """Run the functions at the same time and return what each returned; the first exception is raised."""
    barrier = threading.Barrier(len(functions))

    def run(function: Callable[[], Any]) -> Any:
        try:
            connections["default"].ensure_connection()
            barrier.wait(MEET_SECONDS)
            return function()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(functions)) as pool:
        futures = [pool.submit(run, function) for function in functions]
    return [future.result() for future in futures]


def in_thread(function: Callable[[], R]) -> R:
    """Run a function on a connection of its own and return what it returned."""
    result: R = race(function)[0]
    return result


def isolated(function: Callable[[], R]) -> Callable[[], R]:
    """Wrap a function so that its connection works under REPEATABLE READ."""

    def run() -> R:
        connection = connections["default"]
        scope = "CHARACTERISTICS AS" if connection.vendor == "postgresql" else ""
        with connection.cursor() as cursor:
            cursor.execute(f"SET SESSION {scope} TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        return function()

    return run
