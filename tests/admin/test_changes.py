"""What a person does happens once, only to tasks that are still in the right state, and is counted right."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from django_locqueue import compat
from django_locqueue.models import Queue, Task
from tests.admin.conftest import list_url, task_url

pytestmark = pytest.mark.any_vendor


def act(client: Client, name: str, tasks: list[Task], page: str = "task", **more: Any) -> str:
    """Do a change to ticked rows, and return the page that follows."""
    posted = {"action": name, "_selected_action": [task.pk for task in tasks], "index": 0, **more}
    return client.post(list_url(page), posted, follow=True).content.decode()


def confirmed(client: Client, name: str, tasks: list[Task], page: str = "task") -> str:
    posted = {"action": name, "_selected_action": [task.pk for task in tasks], "confirmed": "yes"}
    return client.post(list_url(page), posted, follow=True).content.decode()


def states(tasks: list[Task]) -> list[str]:
    return list(Task.objects.filter(pk__in=[task.pk for task in tasks]).order_by("id").values_list("state", flat=True))


def test_retry_puts_failed_tasks_back(root: Client, make_task: Callable[..., Task]) -> None:
    tasks = [make_task("failed"), make_task("cancelled")]
    assert "Retried 2 tasks." in act(root, "retry", tasks)
    assert states(tasks) == ["ready", "ready"]


def test_g4_retry_makes_no_copies(root: Client, make_task: Callable[..., Task]) -> None:
    act(root, "retry", [make_task("failed")])
    assert Task.objects.count() == 1


def test_g4_retry_skips_what_has_not_failed_and_says_so(root: Client, make_task: Callable[..., Task]) -> None:
    tasks = [make_task("failed"), make_task("running"), make_task("successful")]
    body = act(root, "retry", tasks)
    assert "Retried 1 task. 2 were skipped because they have not failed, or other tasks hold their unique keys." in body
    assert states(tasks) == ["ready", "running", "successful"]


def test_g4_the_same_form_sent_again_changes_nothing(root: Client, make_task: Callable[..., Task]) -> None:
    tasks = [make_task("failed") for _ in range(3)]
    act(root, "retry", tasks)
    Task.objects.update(state="successful")
    assert "3 were skipped" in act(root, "retry", tasks)
    assert states(tasks) == ["successful"] * 3


def test_run_now_makes_scheduled_tasks_ready(root: Client, make_task: Callable[..., Task]) -> None:
    tasks = [make_task("scheduled"), make_task("ready")]
    body = act(root, "run", tasks)
    assert "1 task no longer waits for its time. 1 was skipped because it is no longer scheduled." in body
    assert states(tasks) == ["ready", "ready"]


def test_cancel_asks_first(root: Client, make_task: Callable[..., Task]) -> None:
    tasks = [make_task("ready"), make_task("scheduled")]
    body = act(root, "cancel", tasks)
    assert "Cancel 2 tasks?" in body
    assert states(tasks) == ["ready", "scheduled"]


def test_cancel_stops_what_waits_and_asks_what_runs(root: Client, make_task: Callable[..., Task]) -> None:
    tasks = [make_task("ready"), make_task("scheduled"), make_task("running"), make_task("failed")]
    body = confirmed(root, "cancel", tasks)
    assert "Cancelled 2 tasks. 1 was already running and was asked to stop. 1 was skipped" in body
    assert states(tasks) == ["cancelled", "cancelled", "running", "failed"]
    assert Task.objects.get(pk=tasks[2].pk).cancel_requested


def test_delete_asks_first(root: Client, make_task: Callable[..., Task]) -> None:
    tasks = [make_task("failed")]
    assert "This cannot be undone." in act(root, "delete", tasks)
    assert states(tasks) == ["failed"]


def test_delete_removes_what_does_not_run(root: Client, make_task: Callable[..., Task]) -> None:
    tasks = [make_task("failed"), make_task("ready"), make_task("running")]
    body = confirmed(root, "delete", tasks)
    assert "Deleted 2 tasks. 1 was skipped because it is running or was already deleted." in body
    assert states(tasks) == ["running"]


def test_select_across_only_changes_the_ticked_rows(root: Client, make_task: Callable[..., Task]) -> None:
    ticked, other = make_task("failed"), make_task("failed")
    act(root, "retry", [ticked], select_across="1")
    assert states([ticked, other]) == ["ready", "failed"]


@pytest.mark.parametrize("ids", [["x"], ["-1"], ["99999999999999999999"], ["1 OR 1=1"]])
def test_ids_that_are_none_change_nothing(ids: list[str], root: Client, make_task: Callable[..., Task]) -> None:
    task = make_task("failed")
    posted = {"action": "retry", "_selected_action": ids, "index": 0}
    assert root.post(list_url("failedtask"), posted).status_code == 400
    assert states([task]) == ["failed"]


@pytest.mark.parametrize(
    ("page", "offered"),
    [
        ("pendingtask/", {"cancel", "delete"}),
        ("pendingtask/?tab=scheduled", {"run", "cancel", "delete"}),
        ("runningtask/", {"cancel"}),
        ("failedtask/", {"retry", "delete"}),
        ("retriedtask/?tab=waiting", {"run", "delete"}),
        ("retriedtask/?tab=succeeded", {"delete"}),
        ("retriedtask/?tab=failed", {"retry", "delete"}),
    ],
)
def test_a_list_offers_only_what_is_possible(
    page: str, offered: set[str], root: Client, make_task: Callable[..., Task], one_of_each: Any
) -> None:
    make_task("failed", attempt=2)
    body = root.get(f"/admin/locqueue/{page}").content.decode()
    assert {name for name in ("retry", "run", "cancel", "delete") if f'<option value="{name}">' in body} == offered


class TestOneTask:
    def test_a_button_changes_and_returns_to_where_it_was(self, root: Client, make_task: Callable[..., Task]) -> None:
        task = make_task("failed")
        body = root.get(list_url("failedtask", "?queue=default")).content.decode()
        url = body.partition('formaction="')[2].partition('"')[0]
        assert url.startswith(task_url(task, "retry"))
        assert root.post(url)["Location"] == list_url("failedtask", "?queue=default")
        assert states([task]) == ["ready"]

    @pytest.mark.parametrize("elsewhere", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "x"])
    def test_it_never_leads_to_another_site(self, elsewhere: str, root: Client, make_task: Callable[..., Task]) -> None:
        task = make_task("failed")
        response = root.post(task_url(task, "retry") + f"?next={elsewhere}")
        assert response["Location"] == task_url(task)

    def test_what_changed_meanwhile_is_left_alone(self, root: Client, make_task: Callable[..., Task]) -> None:
        task = make_task("running")
        body = root.post(task_url(task, "retry"), follow=True).content.decode()
        assert "Nothing was changed: the task started while you were looking." in body
        assert states([task]) == ["running"]
        assert not LogEntry.objects.exists()

    def test_a_change_is_in_the_history(self, root: Client, make_task: Callable[..., Task]) -> None:
        task = make_task("failed")
        root.post(task_url(task, "retry"))
        assert "Retried." in root.get(task_url(task, "history")).content.decode()

    @pytest.mark.parametrize("name", ["cancel", "delete"])
    def test_cancel_and_delete_ask_first(self, name: str, root: Client, make_task: Callable[..., Task]) -> None:
        task = make_task("ready")
        assert "confirmed" in root.post(task_url(task, name)).content.decode()
        assert states([task]) == ["ready"]

    def test_after_delete_the_lists_follow(self, root: Client, make_task: Callable[..., Task]) -> None:
        task = make_task("failed")
        response = root.post(task_url(task, "delete") + f"?next={task_url(task)}", {"confirmed": "yes"})
        assert response["Location"] == list_url("task")

    def test_one_that_is_gone_is_said_to_be(self, root: Client) -> None:
        body = root.get("/admin/locqueue/task/48211/change/", follow=True).content.decode()
        assert "Task #48211 does not exist." in body


class TestQueues:
    def test_pausing_asks_for_a_reason(self, root: Client) -> None:
        Queue.objects.create(name="mail")
        assert 'name="reason"' in root.post("/admin/locqueue/queue/mail/pause/").content.decode()
        assert Queue.objects.get().paused_at is None

    def test_a_paused_queue_says_by_whom_and_why(self, root: Client, make_task: Callable[..., Task]) -> None:
        Queue.objects.create(name="mail")
        make_task("running", queue_name="mail")
        posted = {"confirmed": "yes", "reason": "SMTP is down"}
        body = root.post("/admin/locqueue/queue/mail/pause/", posted, follow=True).content.decode()
        assert "Queue “mail” is paused. 1 running task will finish." in body
        assert "was paused by root" in body
        assert "SMTP is down" in body

    def test_resuming_ends_the_pause(self, root: Client) -> None:
        Queue.objects.create(name="mail", paused_at="2026-01-01T00:00Z")
        body = root.post("/admin/locqueue/queue/mail/resume/", follow=True).content.decode()
        assert "Queue “mail” goes on." in body
        assert Queue.objects.get().paused_at is None

    def test_doing_it_twice_says_so(self, root: Client) -> None:
        Queue.objects.create(name="mail")
        body = root.post("/admin/locqueue/queue/mail/resume/", follow=True).content.decode()
        assert "Queue “mail” was not paused." in body

    def test_an_unknown_queue_is_not_made(self, root: Client) -> None:
        assert root.post("/admin/locqueue/queue/nope/pause/", {"confirmed": "yes"}).status_code == 404
        assert not Queue.objects.exists()


def test_a_waiting_task_that_is_cancelled_here_has_finished_for_django(
    root: Client, make_task: Callable[..., Task], django_capture_on_commit_callbacks: Any
) -> None:
    task = make_task("ready")
    heard: list[str] = []

    def receiver(sender: Any, task_result: Any, **kwargs: Any) -> None:
        heard.append(task_result.id)

    compat.task_finished.connect(receiver)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            confirmed(root, "cancel", [task])
    finally:
        compat.task_finished.disconnect(receiver)
    assert heard == [str(task.pk)]
