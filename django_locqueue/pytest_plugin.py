"""The pytest plugin: one fixture, ``locqueue``. Imports nothing of Django before a test asks for it."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any

import pytest


class LocQueue:
    """The queue in a test: the functions of ``django_locqueue.testing``; the clock is set back after it."""

    def __init__(self, travels: ExitStack) -> None:
        self._travels = travels

    def run_tasks(self, *args: Any, **options: Any) -> list[Any]:
        from django_locqueue import testing

        return testing.run_tasks(*args, **options)

    def enqueued(self, task: Any, *args: Any, **kwargs: Any) -> list[Any]:
        from django_locqueue import testing

        return testing.enqueued(task, *args, **kwargs)

    def assert_enqueued(self, task: Any, *args: Any, **kwargs: Any) -> list[Any]:
        __tracebackhide__ = True
        from django_locqueue import testing

        return testing.assert_enqueued(task, *args, **kwargs)

    def assert_not_enqueued(self, task: Any, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        from django_locqueue import testing

        testing.assert_not_enqueued(task, *args, **kwargs)

    def travel(self, to: float | timedelta | datetime) -> None:
        """Put the queue's clock forward until the test ends."""
        from django_locqueue import testing

        self._travels.enter_context(testing.travel(to))

    @property
    def tasks(self) -> Any:
        """All stored tasks: ``locqueue.tasks.failed()``."""
        from django_locqueue.models import Task

        return Task.objects.all()


@pytest.fixture
def locqueue(db: None) -> Iterator[LocQueue]:
    """Return the queue in a test. Asks for the database, as pytest-django's ``db`` or the test's own mark does."""
    with ExitStack() as travels:
        yield LocQueue(travels)
