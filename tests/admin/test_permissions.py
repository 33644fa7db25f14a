"""Who may see and do what: every permission on every address."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from django_locqueue.models import Queue, Task
from tests.admin.conftest import LISTS, PAGES, list_url, task_url

pytestmark = pytest.mark.any_vendor

CHANGES = {"retry": "failed", "run": "scheduled", "cancel": "ready", "delete": "failed"}
STATE_AFTER = {"retry": "ready", "run": "ready", "cancel": "cancelled"}
SEE = ("view_task", "view_worker", "view_queue", "view_schedule")


def permission_for(page: str) -> str:
    return "view_task" if page in (*LISTS, "workflow", "overview") else f"view_{page}"


@pytest.mark.parametrize("page", PAGES)
def test_a_stranger_is_sent_to_the_login(page: str, client: Client, db: None) -> None:
    response = client.get(list_url(page))
    assert response.status_code == 302
    assert "/login/" in response["Location"]


@pytest.mark.parametrize("page", PAGES)
def test_staff_without_permission_sees_no_list(page: str, person: Callable[..., Client]) -> None:
    assert person().get(list_url(page)).status_code == 403


@pytest.mark.parametrize("page", PAGES)
def test_the_view_permission_shows_the_list(page: str, person: Callable[..., Client]) -> None:
    assert person(permission_for(page)).get(list_url(page)).status_code == 200


@pytest.mark.parametrize("page", PAGES)
def test_other_permissions_show_no_list(page: str, person: Callable[..., Client]) -> None:
    others = {"retry_task", "run_task", "cancel_task", "delete_task", "pause_queue", *SEE} - {permission_for(page)}
    assert person(*others).get(list_url(page)).status_code == 403


@pytest.mark.parametrize("page", PAGES)
def test_a_superuser_sees_the_list(page: str, root: Client) -> None:
    assert root.get(list_url(page)).status_code == 200


def test_the_task_page_asks_for_the_view_permission(person: Callable[..., Client], make_task: Any) -> None:
    task = make_task("failed")
    assert person().get(task_url(task)).status_code == 403
    assert person("view_task").get(task_url(task)).status_code == 200


def test_the_history_asks_for_the_view_permission(person: Callable[..., Client], make_task: Any) -> None:
    task = make_task("failed")
    assert person().get(task_url(task, "history")).status_code == 403
    assert person("view_task").get(task_url(task, "history")).status_code == 200


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
    def test_get_changes_nothing(self, name: str, state: str, root: Client, make_task: Any) -> None:
        task = make_task(state)
        assert root.get(task_url(task, name)).status_code == 405
        assert Task.objects.get(pk=task.pk).state == state

    def test_a_stranger_is_sent_to_the_login(self, name: str, state: str, client: Client, make_task: Any) -> None:
        task = make_task(state)
        assert "/login/" in client.post(task_url(task, name), {"confirmed": "yes"})["Location"]
        assert Task.objects.get(pk=task.pk).state == state

    def test_other_permissions_do_not_help(self, name: str, state: str, person: Any, make_task: Any) -> None:
        task = make_task(state)
        others = {f"{other}_task" for other in CHANGES} - {f"{name}_task"}
        response = person(*SEE, *others).post(task_url(task, name), {"confirmed": "yes"})
        assert response.status_code == 403
        assert Task.objects.get(pk=task.pk).state == state

    def test_its_own_permission_is_enough(self, name: str, state: str, person: Any, make_task: Any) -> None:
        task = make_task(state)
        assert person(f"{name}_task").post(task_url(task, name), {"confirmed": "yes"}).status_code == 302
        states = list(Task.objects.filter(pk=task.pk).values_list("state", flat=True))
        assert states == ([STATE_AFTER[name]] if name in STATE_AFTER else [])

    def test_as_an_action_it_asks_for_its_permission(self, name: str, state: str, person: Any, make_task: Any) -> None:
        task = make_task(state)
        posted = {"action": name, "_selected_action": [task.pk], "index": 0}
        assert person("view_task").post(list_url("task"), posted).status_code == 403
        assert Task.objects.get(pk=task.pk).state == state

    def test_its_button_is_only_shown_to_whom_may(self, name: str, state: str, person: Any, make_task: Any) -> None:
        task = make_task(state)
        button = f'action="{task_url(task, name)}'
        assert button in person("view_task", f"{name}_task").get(task_url(task)).content.decode()
        assert button not in person("view_task").get(task_url(task)).content.decode()


@pytest.mark.parametrize("verb", ["pause", "resume"])
class TestQueues:
    url = "/admin/locqueue/queue/mail/{}/"

    def test_get_changes_nothing(self, verb: str, root: Client) -> None:
        Queue.objects.create(name="mail")
        assert root.get(self.url.format(verb)).status_code == 405

    def test_it_asks_for_the_permission(self, verb: str, person: Any) -> None:
        Queue.objects.create(name="mail")
        assert person(*SEE).post(self.url.format(verb), {"confirmed": "yes"}).status_code == 403
        assert person("pause_queue").post(self.url.format(verb), {"confirmed": "yes"}).status_code == 302

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
