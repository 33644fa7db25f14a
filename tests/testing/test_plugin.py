"""The pytest plugin: its fixture, and that it is there without asking."""

from contextlib import ExitStack
from datetime import timedelta
from importlib import metadata

import pytest
from django.utils import timezone

from django_locqueue import clock, testing
from django_locqueue.pytest_plugin import LocQueue
from tests import tasks


def test_it_is_found_by_pytest():
    [entry] = [each for each in metadata.entry_points(group="pytest11") if each.name == "locqueue"]
    assert entry.value == "django_locqueue.pytest_plugin"


def test_the_fixture_runs_tasks(locqueue):
    result = tasks.add.enqueue(1, 2)
    assert [run.outcome for run in locqueue.run_tasks()] == ["successful"]
    assert locqueue.tasks.successful().get().pk == int(result.id)


def test_the_fixture_tells_what_waits(locqueue):
    tasks.add.enqueue(1)
    assert locqueue.enqueued(tasks.add, 1)
    locqueue.assert_enqueued(tasks.add, 1)
    locqueue.assert_not_enqueued(tasks.add, 2)


def test_the_fixture_travels(locqueue):
    tasks.add.using(run_after=timezone.now() + timedelta(hours=2)).enqueue(1)
    locqueue.travel(3601)
    assert locqueue.run_tasks() == []
    locqueue.travel(3601)
    assert len(locqueue.run_tasks()) == 1


def test_the_clock_is_set_back_when_the_fixture_ends():
    with ExitStack() as travels:
        LocQueue(testing, travels).travel(3600)
        assert clock.seconds_ahead() == 3600
    assert clock.seconds_ahead() == 0


@pytest.mark.django_db(transaction=True)
def test_the_fixture_works_without_a_transaction_around_the_test(locqueue):
    tasks.add.enqueue(1)
    assert len(locqueue.run_tasks()) == 1
