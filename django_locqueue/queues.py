"""Pause and resume queues from code."""

from datetime import datetime

from django_locqueue import clock
from django_locqueue.models.task import queue_name_problem
from django_locqueue.store import get_store


def pause(
    name: str, *, by: str = "", reason: str = "", until: datetime | None = None, backend: str | None = None
) -> bool:
    """Let no worker start a task of the queue, until ``until`` by the database's clock, or until somebody resumes it.

    Running tasks finish; new ones are accepted and wait. ``by`` and ``reason`` are shown on the pages. ``backend``: the
    alias in ``TASKS`` whose database holds the queue; None: the first of ours. False: it is paused already, and
    nothing changed. Raises ValueError for a time that has passed, and for what can be no queue's name.
    """
    if problem := queue_name_problem(name):
        raise ValueError(f"The name of a queue {problem}")
    store = get_store(backend)
    if until is not None and clock.storable(until) <= (now := store.now()):
        raise ValueError(f"until must be in the future; it is {until}, and the database's time is {now}.")
    return store.pause(name, by=by, reason=reason, until=until)


def resume(name: str, *, backend: str | None = None) -> bool:
    """Let workers start the queue's tasks again. False: it was not paused."""
    return get_store(backend).resume(name)
