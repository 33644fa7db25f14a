"""Fixtures that more than one test file uses."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from django.utils import translation

from django_locqueue.models import Worker
from django_locqueue.observability import snapshot
from tests import clean_slate
from tests.processes import Process, wait_until

THREAD_END_SECONDS = 10

clean_slate.use()


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests to which the database is given: `python -m tests` runs them on each, and the others once.

    pytest-django keeps the others from it.
    """
    for item in items:
        if item.get_closest_marker("any_vendor"):
            continue
        fixtures = set(getattr(item, "fixturenames", ()))
        if item.get_closest_marker("django_db") or fixtures & {"db", "transactional_db"}:
            item.add_marker("each_vendor")


@pytest.fixture(autouse=True)
def nobodys_language() -> Iterator[None]:
    """A request leaves its language to its thread, which is that of the next test."""
    yield
    translation.deactivate()


@pytest.fixture
def kept_snapshot(db: None, settings: Any) -> Iterator[None]:
    """The numbers of the queue are there: they are read once in some seconds, for all pages and people."""
    settings.LOCQUEUE = {**settings.LOCQUEUE, "ADMIN": {"COUNTS_SECONDS": 3600}}
    snapshot.snapshot(fresh=True)
    yield
    snapshot.forget()


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
    """Return a function that starts ``runqueue`` and returns its :class:`Process` when it serves.

    Its name is ``--worker-id`` or ``test-1``, ``test-2``, …; with ``wait=False`` it is returned at once.
    """
    number = itertools.count(1)

    def run(*options: str, env: dict[str, str] | None = None, wait: bool = True) -> Process:
        name = options[options.index("--worker-id") + 1] if "--worker-id" in options else f"test-{next(number)}"
        process = start_process("runqueue", "--no-reload", "--worker-id", name, *options, env=env)
        if wait:
            # Its row and not its first words: it registers when its signal handlers are in place.
            wait_until(Worker.objects.filter(name=name).exists, process)
        return process

    return run


@pytest.fixture(autouse=True)
def numbers_of_this_test() -> None:
    """What the process knows of the queue is of the test before."""
    snapshot.forget()


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


@pytest.fixture(scope="session")
def second_session(django_db_setup: None) -> Iterator[None]:
    """Where `second` is another name of the one database, a session that it left open would keep that from its end."""
    yield
    connections["second"].close()
