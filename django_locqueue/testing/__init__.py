"""For the tests of a project: run tasks, see what is enqueued, let time pass. See docs/testing.md."""

from django_locqueue.testing.assertions import assert_enqueued, assert_not_enqueued, enqueued
from django_locqueue.testing.backends import DummyBackend, ImmediateBackend
from django_locqueue.testing.drain import Run, arun_tasks, run_tasks
from django_locqueue.testing.travel import travel

__all__ = [
    "DummyBackend",
    "ImmediateBackend",
    "Run",
    "arun_tasks",
    "assert_enqueued",
    "assert_not_enqueued",
    "enqueued",
    "run_tasks",
    "travel",
]
