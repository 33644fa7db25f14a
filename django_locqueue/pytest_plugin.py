"""The pytest plugin: one fixture, ``locqueue``. Imports nothing of Django before a test asks for it."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

import pytest


class LocQueue:
    """The queue in a test: the functions of ``django_locqueue.testing``; the clock is set back after it."""

    def __init__(self, testing: Any, travels: ExitStack) -> None:
        self._testing = testing
        self._travels = travels
        self.run_tasks = testing.run_tasks
        self.enqueued = testing.enqueued
        self.assert_enqueued = testing.assert_enqueued
        self.assert_not_enqueued = testing.assert_not_enqueued

    def travel(self, to: float | timedelta | datetime) -> None:
        """Put the queue's clock forward until the test ends."""
        self._travels.enter_context(self._testing.travel(to))

    @property
    def tasks(self) -> Any:
        """All stored tasks: ``locqueue.tasks.failed()``."""
        from django_locqueue.models import Task

        return Task.objects.all()


@pytest.fixture
def locqueue(db: None) -> Iterator[LocQueue]:
    """Return the queue in a test. Asks for the database, as pytest-django's ``db`` or the test's own mark does."""
    from django_locqueue import testing

    with ExitStack() as travels:
        yield LocQueue(testing, travels)
