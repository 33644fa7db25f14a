"""``atomic=True``: what a task does to the database happens exactly once, whenever its worker is killed."""

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
    workers = [run_fast_worker("-v", "0", env=NEVER_GIVE_UP) for _ in range(2)]
    added = 0
    while not TaskAttempt.objects.filter(outcome="crashed").exists():  # until a kill has hit one in its midst
        assert added < 10 * TASKS
        add_one.enqueue_many([((counter.pk,), {}) for _ in range(TASKS)])
        added += TASKS
        while (done := Task.objects.successful().count()) < added:
            enough = min(done + random.randint(50, 250), added)
            wait_until(lambda enough=enough: Task.objects.successful().count() >= enough)
            workers.pop(0).kill()  # the one that has long begun
            workers.append(run_fast_worker("-v", "0", env=NEVER_GIVE_UP))
    counter.refresh_from_db()
    assert counter.price == Task.objects.filter(state=State.SUCCESSFUL).count() == added
