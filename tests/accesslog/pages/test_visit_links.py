"""The page of a request leads to the tasks that it enqueued, and their pages lead back."""

import pytest
from django.db import connection
from django.urls import reverse

from django_locqueue.accesslog.models import AccessLog
from django_locqueue.models import Task
from tests.accesslog.pages.rows import entry
from tests.tasks import add

ID = "5e0f" * 8


@pytest.fixture
def visited(db):
    """Return a function that makes the row of a request and its tasks."""

    def make(*metadata, path="/orders/7/"):
        tasks = [add.using(metadata=each).enqueue(1, 2).id for each in metadata]
        return entry(hit_id=ID, path=path, task_ids=",".join(tasks)), tasks

    return make


@pytest.fixture
def everyone(person):
    return person("view_accesslog", "view_task")


def request_page(row):
    return reverse("admin:locqueue_accesslog_accesslog_change", args=[row.pk])


def task_page(number):
    return reverse("admin:locqueue_task_change", args=[number])


def test_each_leads_to_the_other(everyone, visited):
    row, [number] = visited({"request_id": ID})
    assert task_page(number) in everyone.get(request_page(row)).content.decode()
    page = everyone.get(task_page(number)).content.decode()
    assert f'<a href="{request_page(row)}">GET /orders/7/ 200</a>' in page


def test_a_task_that_has_the_number_of_one_that_was_rolled_back_is_not_the_requests(everyone, visited):
    row, [own, other] = visited({"request_id": ID}, {"request_id": "0" * 32})
    page = everyone.get(request_page(row)).content.decode()
    assert task_page(own) in page
    assert task_page(other) not in page


def test_a_task_that_was_deleted_is_a_number(everyone, visited):
    row, [number] = visited({"request_id": ID})
    Task.objects.all().delete()
    page = everyone.get(request_page(row)).content.decode()
    assert f"#{number}" in page
    assert task_page(number) not in page


def test_who_may_not_see_tasks_sees_none(viewer, visited):
    row, [number] = visited({"request_id": ID})
    assert f"#{number}" not in viewer.get(request_page(row)).content.decode()


def test_who_may_not_see_the_log_sees_no_request(person, visited):
    _, [number] = visited({"request_id": ID}, path="/secret/")
    assert "/secret/" not in person("view_task").get(task_page(number)).content.decode()


@pytest.mark.parametrize("found", ["1" * 32, "", 7, None, "\x00", "x" * 10_000, ["a"]])
def test_metadata_that_name_no_request_are_shown_and_no_more(everyone, db, found):
    number = add.using(metadata={"request_id": found}).enqueue(1, 2).id
    assert everyone.get(task_page(number)).status_code == 200
    assert not AccessLog.objects.exists()


@pytest.mark.parametrize("damaged", ["[1]", "{", '{"a": "' + "x" * 70_000, "[" * 50_000])
def test_damaged_metadata_name_no_request(everyone, visited, damaged):
    _, [number] = visited({"request_id": ID})
    with connection.cursor() as cursor:  # past the field, which would make good JSON of it
        cursor.execute("UPDATE locqueue_task SET metadata = %s WHERE id = %s", [damaged, number])
    assert request_page(AccessLog.objects.get()) not in everyone.get(task_page(number)).content.decode()


def test_what_a_path_holds_is_text(everyone, visited):
    _, [number] = visited({"request_id": ID}, path="/<script>/")
    assert "&lt;script&gt;" in everyone.get(task_page(number)).content.decode()
