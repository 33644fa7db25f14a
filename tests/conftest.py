"""Fixtures that more than one test file uses."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.processes import Process

THREAD_END_SECONDS = 3


@pytest.fixture
def start_process(transactional_db: None) -> Iterator[Callable[..., Process]]:
    """Return a function that starts a management command on the test database: ``start_process("migrate")``.

    What it started is ended after the test, before the database is emptied. The test must commit what the process
    shall see, hence ``transactional_db``.
    """
    started: list[Process] = []

    def start(*arguments: str, env: dict[str, str] | None = None) -> Process:
        process = Process(*arguments, env=env)
        started.append(process)
        return process

    yield start
    for process in started:
        process.end()


@pytest.fixture
def run_worker(start_process: Callable[..., Process]) -> Callable[..., Process]:
    """Return a function that starts ``runqueue`` with the given options and returns its :class:`Process`."""

    def run(*options: str, env: dict[str, str] | None = None) -> Process:
        return start_process("runqueue", "--no-reload", *options, env=env)

    return run


def _left_behind(before: set[threading.Thread]) -> list[threading.Thread]:
    return [
        thread
        for thread in threading.enumerate()
        if thread not in before
        and thread.is_alive()
        # asyncio and asgiref keep their executor's threads for the next call; nobody can end them earlier.
        and not thread.name.startswith(("ThreadPoolExecutor", "asyncio_"))
        and (not thread.daemon or thread.name.startswith("locqueue"))
    ]


@pytest.fixture(autouse=True)
def no_thread_left_behind() -> Iterator[None]:
    """Fail the test after which a background thread still runs: one of ours, or one that would keep the process up."""
    before = set(threading.enumerate())
    yield
    deadline = time.monotonic() + THREAD_END_SECONDS
    while (left := _left_behind(before)) and time.monotonic() < deadline:
        left[0].join(0.05)
    if left:
        pytest.fail(f"still running after the test: {', '.join(sorted(t.name for t in left))}", pytrace=False)
