"""The changes that ask for a value, on one task and on ticked rows."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.utils import timezone

from django_locqueue.admin.changes import CHANGES
from django_locqueue.models import Activity, Queue, Task, Worker
from tests import tasks
from tests.admin.conftest import list_url, task_url
from tests.admin.test_changes import act

pytestmark = pytest.mark.any_vendor

TO_COME = "2126-12-01T15:00:00"


def put(client: Client, task: Task, name: str, **posted: Any) -> Any:
    return client.post(task_url(task, name), {"confirmed": "yes", **posted}, follow=True)


def ticked(client: Client, name: str, some: list[Task], **posted: Any) -> str:
    return act(client, name, some, confirmed="yes", **posted)


@pytest.mark.parametrize(
    ("name", "state", "posted", "said", "column", "value"),
    [
        ("retry_at", "failed", {"run_after": TO_COME}, "will be retried at that time", "state", "scheduled"),
        ("change_time", "ready", {"run_after": TO_COME}, "has another time", "state", "scheduled"),
        ("move", "ready", {"queue_name": "mail"}, "Moved 1 task.", "queue_name", "mail"),
        ("change_priority", "scheduled", {"priority": "-7"}, "has another priority", "priority", -7),
        ("dismiss", "failed", {}, "Dismissed 1 task.", "dismissed", True),
        ("put_back", "running", {}, "Put 1 task back in the queue.", "state", "ready"),
    ],
)
class TestEach:
    def test_it_is_done_to_one_task_and_said(
        self, name: str, state: str, posted: Any, said: str, column: str, value: Any, root: Client, make_task: Any
    ) -> None:
        Queue.objects.create(name="mail")
        task = make_task(state)
        body = put(root, task, name, reason="SMTP is back", **posted).content.decode()
        assert said in body
        assert Task.objects.values_list(column, flat=True).get(pk=task.pk) == value
        assert "SMTP is back" in LogEntry.objects.get().change_message or CHANGES[name].question is None
        activity = Activity.objects.get()
        assert (activity.verb, activity.target, activity.user_name) == (CHANGES[name].verb.name, str(task.pk), "root")

    def test_it_is_done_to_the_ticked_rows_that_it_can_be_done_to(
        self, name: str, state: str, posted: Any, said: str, column: str, value: Any, root: Client, make_task: Any
    ) -> None:
        Queue.objects.create(name="mail")
        some = [make_task(state), make_task(state), make_task("successful")]
        assert "1 was skipped" in ticked(root, name, some, **posted)
        found = dict(Task.objects.values_list("pk", column))
        assert [found[task.pk] == value for task in some] == [True, True, False]
        activity = Activity.objects.get()
        assert (activity.matched, activity.changed, activity.skipped) == (3, 2, 1)
        assert activity.selection["ids"] == [task.pk for task in some]

    def test_it_asks_for_its_permission(
        self, name: str, state: str, posted: Any, said: str, column: str, value: Any, person: Any, make_task: Any
    ) -> None:
        task = make_task(state)
        response = put(person("view_task"), task, name, **posted)
        assert response.status_code == 403
        assert "Ask for the permission “" in response.content.decode()
        assert not Activity.objects.exists()
        assert root_get(person, task, name).status_code == 405


def root_get(person: Any, task: Task, name: str) -> Any:
    return person(superuser=True).get(task_url(task, name))


@pytest.mark.parametrize(
    ("name", "posted", "problem"),
    [
        ("retry_at", {}, "This field is required."),
        ("retry_at", {"run_after": "2001-01-01T00:00"}, "This time has passed."),
        ("retry_at", {"run_after": "soon"}, "Enter a valid date/time."),
        ("move", {"queue_name": "mial"}, "Select a valid choice. mial is not one of the available choices."),
        ("change_priority", {"priority": "101"}, "Ensure this value is less than or equal to 100."),
        ("change_priority", {"priority": "high"}, "Enter a whole number."),
    ],
)
def test_what_cannot_be_is_said_beside_the_field_and_nothing_is_done(
    name: str, posted: Any, problem: str, root: Client, make_task: Any
) -> None:
    task = make_task("failed" if name == "retry_at" else "ready")
    before = Task.objects.values().get()
    assert problem in put(root, task, name, **posted).content.decode()
    assert problem in ticked(root, name, [task], **posted)
    assert Task.objects.values().get() == before


def test_the_first_look_at_a_form_has_no_errors(root: Client, make_task: Any) -> None:
    body = root.post(task_url(make_task("failed"), "retry_at")).content.decode()
    assert 'type="datetime-local"' in body
    assert "errorlist" not in body
    assert "In the time zone UTC." in body


def test_a_time_is_read_in_the_persons_time_zone(root: Client, make_task: Any, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Shanghai"
    task = make_task("ready")
    put(root, task, "change_time", run_after=TO_COME)
    task.refresh_from_db()
    assert task.run_after.isoformat() == "2126-12-01T07:00:00+00:00"


def test_a_time_is_taken_in_naive_time_too(root: Client, make_task: Any, settings: Any) -> None:
    task = make_task("ready")
    settings.USE_TZ = False
    assert "This time has passed." in put(root, task, "change_time", run_after="2001-01-01T00:00").content.decode()
    put(root, task, "change_time", run_after=TO_COME)
    task.refresh_from_db()
    assert task.run_after.isoformat() == TO_COME


def test_stop_retrying_is_offered_in_the_place_of_cancel(root: Client, make_task: Any) -> None:
    task = make_task("scheduled", attempt=2)
    body = root.get(task_url(task)).content.decode()
    assert ">Stop retrying</button>" in body
    assert task_url(task, "cancel") not in body
    assert "1 task will not be retried." in put(root, task, "stop").content.decode()
    assert Task.objects.get().state == "cancelled"


@pytest.mark.parametrize(("lease", "offered"), [(timedelta(hours=1), False), (timedelta(hours=-1), True)])
def test_only_what_a_lost_worker_had_can_be_put_back(
    lease: timedelta, offered: bool, root: Client, make_task: Any, worker: Worker
) -> None:
    Worker.objects.update(lease_until=timezone.now() + lease)
    task = make_task("running", worker=worker)
    assert (task_url(task, "put_back") in root.get(task_url(task)).content.decode()) is offered
    body = put(root, task, "put_back").content.decode()
    assert ("its worker answers" in body) is not offered


def test_one_that_started_while_somebody_looked_is_said_to_have(root: Client, make_task: Any) -> None:
    task = make_task("running")
    said = "Nothing was changed: the task started while you were looking."
    assert said in put(root, task, "change_priority", priority="1").content.decode()
    assert not Activity.objects.exists()


def test_run_again_leads_to_the_new_task(root: Client) -> None:
    task = Task.objects.get(pk=int(tasks.add.enqueue(1).id))
    Task.objects.update(state="successful", attempt=1)
    response = put(root, task, "again")
    copy = Task.objects.latest("pk")
    assert response.redirect_chain == [(task_url(copy), 302)]
    assert f"“add” was added to the queue as #{copy.pk}." in response.content.decode()
    assert f'<a href="{task_url(task)}">#{task.pk}</a>' in response.content.decode()


def test_a_retry_by_hand_is_on_the_task(root: Client, make_task: Callable[..., Task]) -> None:
    task = make_task("failed")
    root.post(task_url(task, "retry"))
    assert Task.objects.get().retried_by == "root"
    body = root.get(task_url(task)).content.decode()
    assert "<dt>Retried by</dt><dd>root</dd>" in body
    assert "<strong>root</strong> Retried." in body


def test_a_change_to_ticked_rows_is_in_the_history_of_each(root: Client, make_task: Any) -> None:
    some = [make_task("failed"), make_task("failed")]
    act(root, "retry", some)
    assert set(LogEntry.objects.values_list("object_id", flat=True)) == {str(task.pk) for task in some}


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_has_an_address_that_only_takes_posts(name: str, root: Client, make_task: Any) -> None:
    assert root.get(task_url(make_task(), name)).status_code == 405


def test_the_list_offers_each_by_name(root: Client, make_task: Any) -> None:
    make_task("failed")
    body = root.get(list_url("task")).content.decode()
    assert {name for name in CHANGES if f'<option value="{name}">' in body} == set(CHANGES)
