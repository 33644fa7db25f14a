"""The pages of workflows."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from django_locqueue.models import Task, Workflow
from django_locqueue.store import Store, store_for
from django_locqueue.store.serve import Owner
from tests.admin.conftest import list_url, task_url
from tests.store.flows import end_all, flow, ids_of, start, states

pytestmark = pytest.mark.any_vendor


@pytest.fixture
def store(db: None) -> Store:
    return store_for("default")


def page(pk: int, verb: str = "change") -> str:
    return list_url("workflow", f"{pk}/{verb}/")


def body_of(client: Client, url: str) -> str:
    return client.get(url).content.decode()


def test_the_list_shows_how_far_each_is(root: Client, store: Store) -> None:
    workflow = start(store, 3, 1)
    end_all(store, Owner(1, "w"), limit=2)
    body = body_of(root, list_url("workflow"))
    assert f'<a href="{page(workflow)}">flow</a>' in body
    assert '<progress value="2" max="4"></progress> <span class="lq-quiet">2/4</span>' in body
    assert "1/2" in body


def test_the_page_shows_each_step(root: Client, store: Store) -> None:
    workflow = start(store, 3, 1, 1, on_failure=[2])
    end_all(store, Owner(1, "w"), limit=3)
    body = body_of(root, page(workflow))
    for text in ("<td>3/3</td>", "<td>0/1</td>", "step1", "Present", "To come", "(also after a failure)"):
        assert text in body
    assert f"{list_url('task')}?workflow={workflow}&amp;state=failed" in body


def test_the_page_of_a_failed_workflow_shows_what_was_left_out(root: Client, store: Store) -> None:
    workflow = start(store, 1, 1)
    store.cancel(ids_of(workflow, 0))
    assert "Left out" in body_of(root, page(workflow))


def test_a_page_counts_no_tasks(
    root: Client, store: Store, kept_snapshot: None, django_assert_num_queries: Any
) -> None:
    few, many = start(store, 1, 1), start(store, 50, 50)
    assert root.get(page(few)).status_code == 200
    with django_assert_num_queries(4):  # the session, the person, the workflow, and the queues for the strip
        root.get(page(many))


def test_a_task_leads_to_its_workflow(root: Client, store: Store) -> None:
    workflow = start(store, 1, 1, 1)
    body = body_of(root, task_url(Task(pk=ids_of(workflow, 1)[0])))
    assert f'<a href="{page(workflow)}">Workflow #{workflow}</a> (step 2 of 3)' in body


def test_a_task_whose_workflow_is_gone_has_a_page(root: Client, store: Store) -> None:
    workflow = start(store, 1)
    [task_id] = ids_of(workflow, 0)
    Workflow.objects.all().delete()
    assert f"#{workflow} (step 1 of ?)" in body_of(root, task_url(Task(pk=task_id)))


def test_the_list_of_tasks_can_be_that_of_a_workflow(
    root: Client, store: Store, make_task: Callable[..., Task]
) -> None:
    other, workflow = start(store, 2), start(store, 1, 2)
    make_task("ready")
    response = root.get(list_url("task", f"?workflow={workflow}"))
    assert [task.pk for task in response.context["cl"].result_list] == ids_of(workflow, 0) + ids_of(workflow, 1)
    assert page(workflow) in response.content.decode()
    assert page(other) not in response.content.decode()
    response = root.get(list_url("task", f"?workflow={workflow}&state=blocked"))
    assert [task.pk for task in response.context["cl"].result_list] == ids_of(workflow, 1)


def test_a_workflow_that_is_no_number_is_refused(root: Client) -> None:
    assert root.get(list_url("task", "?workflow=x"))["Location"].endswith("?e=1")


def test_cancelling_asks_first_and_then_does_it(root: Client, store: Store) -> None:
    workflow = start(store, 2, 1)
    asked = root.post(page(workflow, "cancel")).content.decode()
    assert f"Cancel workflow #{workflow}?" in asked
    assert flow(workflow).state == "running"
    done = root.post(page(workflow, "cancel"), {"confirmed": "yes", "reason": "wrong list"}, follow=True)
    assert "Cancelled 3 tasks." in done.content.decode()
    assert states(workflow) == ["cancelled cancelled", "cancelled"]
    assert Task.objects.first().error_message == "by root: wrong list"
    assert LogEntry.objects.count() == 1


def test_a_workflow_that_has_ended_is_said_to(root: Client, store: Store) -> None:
    workflow = start(store, 1)
    store.cancel_workflow(workflow)
    done = root.post(page(workflow, "cancel"), {"confirmed": "yes"}, follow=True).content.decode()
    assert "Nothing was changed: the workflow has already finished." in done
    assert page(workflow, "cancel") not in done


def test_cancelling_asks_for_its_permission(person: Callable[..., Client], store: Store) -> None:
    workflow = start(store, 1)
    viewer = person("view_task")
    assert page(workflow, "cancel") not in body_of(viewer, page(workflow))
    assert viewer.post(page(workflow, "cancel"), {"confirmed": "yes"}).status_code == 403
    assert person("view_task", "cancel_task").post(page(workflow, "cancel"), {"confirmed": "yes"}).status_code == 302
    assert flow(workflow).state == "cancelled"


def test_a_page_asks_for_the_permission_to_see_tasks(person: Callable[..., Client], store: Store) -> None:
    workflow = start(store, 1)
    assert person().get(page(workflow)).status_code == 403
    assert person("view_task").get(page(workflow)).status_code == 200


def test_nothing_is_changed_by_a_get(root: Client, store: Store) -> None:
    assert root.get(page(start(store, 1), "cancel")).status_code == 405


def test_a_workflow_that_does_not_exist_leads_back_to_the_list(root: Client) -> None:
    assert "Workflow #7 does not exist" in root.get(page(7), follow=True).content.decode()
    assert root.post(page(7, "cancel")).status_code == 404


def test_the_names_on_a_page_are_escaped(root: Client, store: Store) -> None:
    workflow = start(store, 1)
    Workflow.objects.update(name="<b>‮bold", plan=[["<b>‮bold", 1]])
    for url in (list_url("workflow"), page(workflow)):
        assert "<b>" not in body_of(root, url)
        assert "&lt;b&gt;\\u202ebold" in body_of(root, url)
