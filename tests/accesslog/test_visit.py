"""A request and the tasks that it enqueues know of each other."""

import asyncio
import contextvars
import threading

import pytest
from django.db import transaction
from django.http import HttpResponse
from django.test import Client, RequestFactory

from django_locqueue import chain, current_origin
from django_locqueue.accesslog import request_id
from django_locqueue.accesslog.hit import MAX_TASKS
from django_locqueue.accesslog.middleware import AccessLogMiddleware
from django_locqueue.accesslog.visit import Visit
from django_locqueue.models import Task
from tests.tasks import add

QUEUE = {"default": {"BACKEND": "django_locqueue.backend.LocQueueBackend", "QUEUES": []}}


@pytest.fixture
def enqueuing(site, hits, db):
    """Return a function that has something done in a request, and returns the ids of its hit and of the hit's tasks."""
    site.TASKS = QUEUE

    def during(act):
        AccessLogMiddleware(lambda request: HttpResponse(act()))(RequestFactory().get("/"))
        hit = hits[-1]
        return hit.id, [int(each) for each in hit.task_ids.split(",") if each]

    return during


def metadata_of_tasks():
    return {task.pk: task.metadata for task in Task.objects.order_by("pk")}


def test_a_task_carries_the_id_of_its_request_and_the_hit_those_of_its_tasks(enqueuing):
    request, tasks = enqueuing(lambda: [add.enqueue(1, 2), add.enqueue(3, 4)])
    assert metadata_of_tasks() == {key: {"request_id": request} for key in tasks}
    assert len(tasks) == 2


def test_many_and_workflows_too(enqueuing):
    request, tasks = enqueuing(
        lambda: [add.enqueue_many([((1, 2), {})] * 3), chain(add.call(1, 2), add.call(3, 4)).enqueue()]
    )
    assert metadata_of_tasks() == {key: {"request_id": request} for key in tasks}
    assert len(tasks) == 5


def test_the_metadata_of_a_call_goes_first(enqueuing):
    own = {"request_id": "mine", "tenant": 7}
    enqueuing(lambda: add.using(metadata=own).enqueue(1, 2))
    assert list(metadata_of_tasks().values()) == [own]


def test_a_hit_keeps_the_first_tasks_only(enqueuing):
    _, tasks = enqueuing(lambda: [add.enqueue(0, 0), add.enqueue_many([((1, 2), {})] * (MAX_TASKS + 5))])
    assert tasks == list(metadata_of_tasks())[:MAX_TASKS]


def test_what_is_enqueued_on_commit_belongs_to_the_request(enqueuing, django_capture_on_commit_callbacks):
    def act():
        with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
            add.enqueue_on_commit(1, 2)

    request, tasks = enqueuing(act)
    assert metadata_of_tasks() == {key: {"request_id": request} for key in tasks}


def test_outside_of_a_request_nothing_is_carried(enqueuing):
    enqueuing(lambda: None)
    add.enqueue(1, 2)
    assert list(metadata_of_tasks().values()) == [None]


def test_a_log_that_is_off_marks_no_task(enqueuing, configure):
    configure(ENABLED=False)
    AccessLogMiddleware(lambda request: HttpResponse(add.enqueue(1, 2).id))(RequestFactory().get("/"))
    assert list(metadata_of_tasks().values()) == [None]


def test_a_request_that_ends_with_an_exit_is_over(enqueuing):
    def leave():
        raise SystemExit

    with pytest.raises(SystemExit):
        enqueuing(leave)
    assert current_origin.get() is None


@pytest.fixture
def left_behind(enqueuing):
    """The context of something that a request started and did not wait for, when that request has been answered."""
    kept = []
    request, _ = enqueuing(lambda: kept.append(contextvars.copy_context()))
    assert kept[0][current_origin].id == request
    return kept[0]


def test_what_outlives_its_request_enqueues_tasks_of_its_own(left_behind):
    left_behind.run(add.enqueue, 1, 2)
    assert list(metadata_of_tasks().values()) == [None]
    assert left_behind[current_origin].task_ids == ()


def test_what_outlives_its_request_is_in_none(left_behind):
    assert left_behind.run(request_id) is None


@pytest.mark.parametrize("ending", [SystemExit, asyncio.CancelledError])
async def test_a_request_that_is_broken_off_is_over_too(hits, ending):
    kept = []

    async def view(request):
        kept.append(current_origin.get())
        raise ending

    with pytest.raises(ending):
        await AccessLogMiddleware(view)(RequestFactory().get("/"))
    assert kept[0].over


def test_the_id_of_the_request_can_be_asked_for(enqueuing):
    told = []
    request, _ = enqueuing(lambda: told.append(request_id()))
    assert told == [request]
    assert request_id() is None


def test_another_origin_is_no_request():
    class Import:
        metadata = {}

        def enqueued(self, ids):
            pass

    token = current_origin.set(Import())
    try:
        assert request_id() is None
    finally:
        current_origin.reset(token)


def test_a_visit_has_one_id_whoever_asks_first():
    visit, together, told = Visit(), threading.Barrier(8), []

    def ask():
        together.wait()
        told.append(visit.id)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 8
    assert set(told) == {visit.id}


async def test_i13_requests_at_once_have_ids_of_their_own(hits):
    told = {}
    all_there = asyncio.Barrier(20)

    async def view(request):
        await all_there.wait()
        told[request.path] = request_id()
        return HttpResponse()

    answer = AccessLogMiddleware(view)
    await asyncio.gather(*(answer(RequestFactory().get(f"/any/{n}")) for n in range(20)))
    assert told == {hit.path: hit.id for hit in hits}
    assert len(set(told.values())) == 20


@pytest.mark.django_db
def test_the_row_keeps_the_ids(stored):
    from django_locqueue.accesslog.models import AccessLog

    Client().get("/page/")
    row = AccessLog.objects.get()
    assert (len(row.hit_id), row.task_ids) == (32, "")
