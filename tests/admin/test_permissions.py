"""What one may not do is not offered. Who may do what is asked of every address in tests/pages."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from django_locqueue.models import Queue, Task
from tests.admin.conftest import LISTS, PAGES, list_url, task_url

pytestmark = pytest.mark.any_vendor

CHANGES = {"retry": "failed", "run": "scheduled", "cancel": "ready", "delete": "failed"}


def permission_for(page: str) -> str:
    return "view_task" if page in (*LISTS, "workflow", "overview") else f"view_{page}"


@pytest.mark.parametrize("page", LISTS[:-1])
def test_a_list_leads_to_the_one_page_of_a_task(page: str, person: Callable[..., Client], make_task: Any) -> None:
    task = make_task("failed")
    url = f"/admin/locqueue/{page}/{task.pk}/change/"
    assert person().get(url).status_code == 403
    assert person("view_task").get(url)["Location"] == task_url(task)


@pytest.mark.parametrize("page", PAGES)
def test_the_index_shows_only_what_one_may_see(page: str, person: Callable[..., Client]) -> None:
    assert list_url(page) in person(permission_for(page)).get("/admin/").content.decode()
    assert list_url(page) not in person().get("/admin/").content.decode()


@pytest.mark.parametrize(("name", "state"), CHANGES.items())
class TestChanges:
    def test_its_button_is_only_shown_to_whom_may(self, name: str, state: str, person: Any, make_task: Any) -> None:
        task = make_task(state)
        button = f'action="{task_url(task, name)}'
        assert button in person("view_task", f"{name}_task").get(task_url(task)).content.decode()
        assert button not in person("view_task").get(task_url(task)).content.decode()


@pytest.mark.parametrize("verb", ["pause", "resume"])
class TestQueues:
    url = "/admin/locqueue/queue/mail/{}/"

    def test_its_button_is_only_shown_to_whom_may(self, verb: str, person: Any) -> None:
        Queue.objects.create(name="mail", paused_at="2026-01-01T00:00Z" if verb == "resume" else None)
        assert self.url.format(verb) not in person("view_queue").get(list_url("queue")).content.decode()
        assert self.url.format(verb) in person("view_queue", "pause_queue").get(list_url("queue")).content.decode()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("what", ["add/", "1/delete/"])
def test_admins_own_forms_are_not_there(page: str, what: str, root: Client) -> None:
    if page == "schedule":
        pytest.skip("has a form of its own for those that a person makes")
    if page != "task" or what == "add/":
        assert root.get(list_url(page, what)).status_code == 404
        assert root.post(list_url(page, what), {"task_path": "os.system"}).status_code == 404


def test_posting_to_the_task_page_is_refused(root: Client, make_task: Any) -> None:
    task = make_task("failed")
    assert root.post(task_url(task), {"task_path": "os.system", "_save": "1"}).status_code == 405
    assert Task.objects.get(pk=task.pk).task_path == "shop.tasks.send"


def test_no_field_of_a_task_can_be_edited(root: Client, one_of_each: dict[str, Task]) -> None:
    body = root.get(task_url(one_of_each["failed"])).content.decode()
    assert "<textarea" not in body
    assert 'type="text"' not in body.partition('id="content-main"')[2]


def test_admins_delete_action_is_gone(root: Client, one_of_each: dict[str, Task]) -> None:
    before = Task.objects.count()
    posted = {"action": "delete_selected", "_selected_action": [one_of_each["failed"].pk], "post": "yes"}
    root.post(list_url("task"), posted)
    assert "delete_selected" not in root.get(list_url("task")).content.decode()
    assert Task.objects.count() == before
