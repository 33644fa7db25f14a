"""The parts of a page that are fetched anew."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.template import Context, Template, TemplateSyntaxError
from django.test import Client

from django_locqueue.models import Queue, Task, Worker
from tests.admin.conftest import list_url, task_url

pytestmark = pytest.mark.any_vendor

REGION = re.compile(r'data-lq-region="([^"]*)" data-lq-version="([^"]*)"')


def fragment(client: Client, url: str, **headers: str) -> Any:
    return client.get(url, {"_fragment": "1"}, headers=headers)


def versions(client: Client, url: str) -> dict[str, str]:
    return dict(REGION.findall(fragment(client, url).content.decode()))


@pytest.mark.parametrize("page", ["overview", "runningtask", "failedtask", "queue", "worker", "schedule"])
def test_a_fragment_is_the_regions_of_the_page_and_nothing_else(page: str, root: Client, one_of_each: Any) -> None:
    whole, parts = (
        get(root, list_url(page)).content.decode() for get in (lambda client, url: client.get(url), fragment)
    )
    names = [[name for name, _ in REGION.findall(body)] for body in (parts, whole)]
    assert names[0] == names[1] != []
    assert parts.startswith("<div data-lq-region=")
    assert "<html" not in parts


def test_what_has_not_changed_is_not_sent_again(root: Client, one_of_each: Any, kept_snapshot: None) -> None:
    Queue.objects.update(paused_until=None)  # whose banner has a form, and that a token of its own
    response = fragment(root, list_url("queue"))
    again = fragment(root, list_url("queue"), if_none_match=response["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == response["ETag"]


def test_only_the_region_that_changed_has_another_version(root: Client, worker: Worker) -> None:
    before = versions(root, list_url("schedule"))
    Queue.objects.create(name="mail", paused_at=worker.started_at)
    after = versions(root, list_url("schedule"))
    assert before["rows"] == after["rows"]
    assert before["top"] != after["top"]


def test_a_condition_of_the_list_holds_for_its_fragment(root: Client, make_task: Callable[..., Task]) -> None:
    make_task("failed", queue_name="mail")
    other = make_task("failed", queue_name="other")
    response = root.get(list_url("failedtask"), {"queue": "mail", "_fragment": "1"})
    assert response.status_code == 200
    assert task_url(other) not in response.content.decode()
    assert "_fragment" not in response.content.decode()


def test_a_message_is_kept_for_the_next_page(root: Client, worker: Worker) -> None:
    root.post(list_url("worker", f"{worker.pk}/stop/"))
    fragment(root, list_url("worker"))
    said = [str(message) for message in get_messages(root.get(list_url("worker")).wsgi_request)]
    assert len(said) == 1
    assert worker.name in said[0]


def test_who_is_signed_out_gets_no_fragment(client: Client, db: None) -> None:
    assert "/login/" in fragment(client, list_url("overview"))["Location"]


def test_another_permission_gets_no_fragment(person: Callable[..., Client]) -> None:
    assert fragment(person("view_worker"), list_url("overview")).status_code == 403


def test_a_task_that_has_ended_has_other_regions(root: Client, make_task: Callable[..., Task], worker: Worker) -> None:
    task = make_task("running", worker=worker)
    before = versions(root, task_url(task))
    Task.objects.update(state="successful", finished_at=worker.started_at)
    assert set(versions(root, task_url(task))) != set(before)


@pytest.mark.parametrize(("key", "mark"), [("REFRESH", "data-lq-refresh"), ("KEYBOARD", "data-lq-keys")])
def test_the_project_may_do_without(key: str, mark: str, root: Client, settings: Any) -> None:
    assert mark in root.get(list_url("overview")).content.decode()
    settings.LOCQUEUE = {**settings.LOCQUEUE, "ADMIN": {"COUNTS_SECONDS": 0, key: False}}
    assert mark not in root.get(list_url("overview")).content.decode()


def test_a_region_without_a_name_is_refused() -> None:
    with pytest.raises(TemplateSyntaxError, match="takes the region's name, got 0 arguments"):
        Template("{% load locqueue %}{% lq_region %}{% end_lq_region %}").render(Context())
