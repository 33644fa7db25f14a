"""Failed tasks by kind of error, and by task."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client, RequestFactory
from django.utils import timezone

from django_locqueue.admin.error_pages import rows_of
from django_locqueue.models import ErrorCount, ErrorGroup, FailedTask, Task
from tests.admin.conftest import list_url
from tests.admin.test_cost import queries_of

pytestmark = pytest.mark.any_vendor

GROUP = {"error_class": "smtplib.SMTPError", "message": "<n> refused", "place": "shop/mail.py:41 send"}


@pytest.fixture
def group(db: None) -> ErrorGroup:
    now = timezone.now()
    seen = {"first_seen": now - timedelta(days=30), "last_seen": now - timedelta(minutes=2)}
    made: ErrorGroup = ErrorGroup.objects.create(fingerprint="f1", task_path="shop.tasks.send", **GROUP, **seen)
    return made


def the_row(group: ErrorGroup) -> Any:
    request = RequestFactory().get("/")
    (row,) = rows_of(admin.site.get_model_admin(FailedTask), request, [group])
    return row


def body_of(client: Client, path: str) -> str:
    response = client.get(list_url("failedtask", path))
    assert response.status_code == 200
    return response.content.decode()


@pytest.fixture(autouse=True)
def no_buttons(monkeypatch: Any) -> None:
    """Rows are made without a person."""
    monkeypatch.setattr("django_locqueue.admin.error_pages._buttons", lambda *args, **kwargs: [])


def test_a_kind_of_error_has_its_failed_tasks_and_its_attempts(
    group: ErrorGroup, make_task: Callable[..., Task]
) -> None:
    for dismissed in (False, False, True):
        make_task("failed", error_group=group, dismissed=dismissed)
    make_task("successful", error_group=group)
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for hours, count in ((0, 1), (5, 10), (100, 100), (1000, 1000)):  # at any minute of the hour
        ErrorCount.objects.create(group=group, hour=hour - timedelta(hours=hours), count=count)
    row = the_row(group)
    assert (row.tasks, row.counts) == ("2", ["1", "11", "111"])
    assert (row.affects, row.place) == ("send", "shop/mail.py:41 send")


@pytest.mark.parametrize(
    ("columns", "mark"),
    [
        ({}, ""),
        ({"first_seen": timedelta(hours=23)}, "New"),
        ({"back_at": timedelta(hours=23)}, "Back"),
        ({"back_at": timedelta(hours=25)}, ""),
    ],
)
def test_what_is_new_or_came_back_is_marked(columns: dict[str, timedelta], mark: str, group: ErrorGroup) -> None:
    for name, ago in columns.items():
        setattr(group, name, timezone.now() - ago)
    assert mark in the_row(group).mark
    assert bool(the_row(group).mark) == bool(mark)


def test_the_page_leads_to_the_tasks_of_a_kind(root: Client, group: ErrorGroup, make_task: Callable[..., Task]) -> None:
    make_task("failed")
    meant = make_task("failed", error_group=group)
    link = re.search(r'href="\.\./(\?group=[^"]*)"', body_of(root, "errors/"))
    assert link
    assert re.findall(r'name="_selected_action" value="(\d+)"', body_of(root, link[1])) == [str(meant.pk)]


def test_more_kinds_take_no_more_queries(
    root: Client, group: ErrorGroup, make_task: Callable[..., Task], kept_snapshot: None
) -> None:
    few = queries_of(root, list_url("failedtask", "errors/"))
    for number in range(30):
        ErrorGroup.objects.create(fingerprint=f"g{number}", **GROUP)
        make_task("failed", error_group_id=f"g{number}")
    assert len(queries_of(root, list_url("failedtask", "errors/"))) == len(few) <= 8


def test_failed_tasks_are_counted_by_task(root: Client, make_task: Callable[..., Task], kept_snapshot: None) -> None:
    for path in ("shop.tasks.send", "shop.tasks.pay", "shop.tasks.pay"):
        make_task("failed", task_path=path)
    make_task("failed", task_path="shop.tasks.gone", dismissed=True)
    body = body_of(root, "tasks/")
    assert re.findall(r'href="\.\./\?task=([\w.]+)">(\d+)', body) == [("shop.tasks.pay", "2"), ("shop.tasks.send", "1")]
    sent = queries_of(root, list_url("failedtask", "tasks/"))
    assert len(sent) <= 8
    assert not [sql for sql in sent if re.search(r"ORDER BY \d", sql)]


@pytest.mark.parametrize("path", ["errors/", "tasks/"])
def test_the_pages_are_for_those_who_may_look(path: str, person: Callable[..., Client]) -> None:
    assert person().get(list_url("failedtask", path)).status_code == 403
    assert person("view_task").get(list_url("failedtask", path)).status_code == 200
    assert person("view_task", "retry_task").post(list_url("failedtask", path)).status_code == 405


@pytest.mark.parametrize("path", ["errors/", "tasks/"])
def test_without_failures_the_pages_say_so(path: str, root: Client) -> None:
    assert "No failed tasks." in body_of(root, path)
