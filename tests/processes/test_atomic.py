"""``atomic=True``: what a task does to the database happens exactly once, whenever its worker is killed."""

import itertools
import random

import pytest

from django_locqueue.models import State, Task, TaskAttempt
from testproject.shop.models import Product
from tests.faults.load import add_one
from tests.processes import wait_until

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True)]

TASKS = 2000
NEVER_GIVE_UP = {"TEST_LOCQUEUE_OPTIONS": '{"MAX_CRASHES": 100}'}


def test_2000_tasks_that_add_1_add_2000_though_their_workers_are_killed(run_fast_worker):
    counter = Product.objects.create(price=0)
    add_one.enqueue_many([((counter.pk,), {}) for _ in range(TASKS)])
    workers = [run_fast_worker("-v", "0", env=NEVER_GIVE_UP) for _ in range(2)]
    for oldest in itertools.count(1):
        if (done := Task.objects.successful().count()) == TASKS:
            break
        # In the midst of the work, however fast it is.
        enough = min(done + random.randint(50, 250), TASKS)
        wait_until(lambda enough=enough: Task.objects.successful().count() >= enough)
        wait_until(lambda oldest=oldest: has_something(oldest) or Task.objects.successful().count() == TASKS)
        workers.pop(0).kill()
        workers.append(run_fast_worker("-v", "0", env=NEVER_GIVE_UP))
    counter.refresh_from_db()
    assert Task.objects.filter(state=State.SUCCESSFUL).count() == TASKS
    assert counter.price == TASKS
    assert TaskAttempt.objects.filter(outcome="crashed").exists()  # the kills did hit


def has_something(number):
    """Whether the worker that was started as this one has claimed a task."""
    return Task.objects.running().filter(worker__name=f"test-{number}").exists()
