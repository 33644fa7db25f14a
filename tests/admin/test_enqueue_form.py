"""Adding a task by hand."""

from typing import Any

import pytest
from django.test import Client

from django_locqueue.models import Activity, Queue, Task
from tests import unique_tasks
from tests.admin.conftest import list_url, task_url

pytestmark = pytest.mark.any_vendor

URL = list_url("task", "enqueue/")


def add(client: Client, **posted: Any) -> Any:
    return client.post(URL, {"task": "tests.tasks.add", "args": "[3]", **posted}, follow=True)


def test_a_registered_task_is_added_as_asked(root: Client) -> None:
    Queue.objects.create(name="mail")
    posted = {"kwargs": '{"b": 4}', "queue_name": "mail", "priority": "5", "run_after": "2126-12-01T15:00"}
    response = add(root, reason="to try it", **posted)
    task = Task.objects.get()
    assert response.redirect_chain == [(task_url(task), 302)]
    assert f"“add” was added to the queue as #{task.pk}." in response.content.decode()
    assert (task.task_path, task.args_kwargs) == ("tests.tasks.add", {"args": [3], "kwargs": {"b": 4}})
    assert (task.state, task.queue_name, task.priority) == ("scheduled", "mail", 5)
    activity = Activity.objects.get()
    assert (activity.verb, activity.target, activity.reason) == ("enqueue", str(task.pk), "to try it")


def test_what_is_left_out_is_as_its_definition_says(root: Client) -> None:
    add(root)
    task = Task.objects.get()
    assert (task.state, task.queue_name, task.priority) == ("ready", "default", 0)


@pytest.mark.parametrize(
    ("posted", "problem"),
    [
        ({"task": "os.system"}, "Select a valid choice."),
        ({"args": "[1"}, "Enter a valid JSON."),
        ({"args": "[1, 2, 3]"}, "too many positional arguments"),
        ({"kwargs": '{"c": 1}'}, "unexpected keyword argument"),
        ({"args": "5"}, "Must be a list, got 5."),
        ({"queue_name": "mial"}, "Select a valid choice."),
        ({"priority": "1000"}, "less than or equal to 100"),
        ({"run_after": "2001-01-01T00:00"}, "This time has passed."),
    ],
)
def test_g6_what_could_never_run_is_refused_with_the_reason(posted: Any, problem: str, root: Client) -> None:
    assert problem in add(root, **posted).content.decode()
    assert not Task.objects.exists()
    assert not Activity.objects.exists()


def test_one_whose_key_is_held_is_not_added(root: Client) -> None:
    holder = unique_tasks.ship.enqueue(7)
    body = add(root, task="tests.unique_tasks.ship", args="[7]").content.decode()
    assert f"It was not added: #{holder.id} holds its unique key." in body
    body = add(root, task="tests.unique_tasks.invoice", args="[7]").content.decode()
    body = add(root, task="tests.unique_tasks.invoice", args="[7]").content.decode()
    assert "It was not added: " in body
    assert Task.objects.count() == 2


def test_it_asks_for_its_permission(person: Any) -> None:
    for client in (person("view_task", "retry_task", "run_task"),):
        assert client.get(URL).status_code == 403
        assert add(client).status_code == 403
        assert URL not in client.get(list_url("pendingtask")).content.decode()
    client = person("view_task", "enqueue_task")
    assert URL in client.get(list_url("pendingtask")).content.decode()
    assert client.get(URL).status_code == 200
    assert not Task.objects.exists()


def test_the_form_has_nothing_inline(root: Client) -> None:
    body = root.get(URL).content.decode()
    assert "style=" not in body
    assert "onsubmit" not in body
