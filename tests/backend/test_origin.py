"""Whoever is the origin of calls marks them, and learns what was stored."""

from contextlib import contextmanager

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from django_locqueue import chain, current_origin, group
from django_locqueue.models import Task
from tests.tasks import add
from tests.unique_tasks import ship

pytestmark = pytest.mark.django_db


class Import:
    """An import of a file, say."""

    metadata = {"file": "a.csv"}

    def __init__(self):
        self.ids = []

    def enqueued(self, ids):
        self.ids += ids


@contextmanager
def from_here():
    origin = Import()
    token = current_origin.set(origin)
    try:
        yield origin
    finally:
        current_origin.reset(token)


@pytest.mark.parametrize(
    "enqueue",
    [
        lambda: add.enqueue(1, 2),
        lambda: add.enqueue_many([((1, 2), {}), ((3, 4), {})]),
        lambda: ship.enqueue(7),
        lambda: chain(add.call(1, 2), group(add.call(1), add.call(2))).enqueue(),
    ],
)
def test_each_task_has_the_mark_and_each_id_is_told(enqueue):
    with from_here() as origin:
        enqueue()
    tasks = Task.objects.order_by("pk")
    assert origin.ids == [task.pk for task in tasks]
    assert {task.metadata["file"] for task in tasks} == {"a.csv"}


def test_a_duplicate_is_not_told_since_it_is_anothers():
    ship.enqueue(7)
    with from_here() as origin:
        ship.enqueue(7)
    assert origin.ids == []


def test_the_metadata_of_the_call_goes_first():
    with from_here():
        add.using(metadata={"file": "b.csv", "line": 3}).enqueue(1, 2)
    assert Task.objects.get().metadata == {"file": "b.csv", "line": 3}


async def test_it_goes_along_into_async_calls(transactional_db):
    with from_here() as origin:
        await add.aenqueue(1, 2)
    task = await Task.objects.aget()
    await sync_to_async(connections.close_all)()  # of the thread that asgiref keeps
    assert (origin.ids, task.metadata) == ([task.pk], {"file": "a.csv"})
