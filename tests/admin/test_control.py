"""What a person does about tasks and queues besides retrying, and what the pages say of it."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from django_locqueue.models import Queue, Task
from django_locqueue.observability.snapshot import snapshot
from django_locqueue.observability.status_json import queue_json
from django_locqueue.store import get_store
from tests import renamed_tasks
from tests.admin.conftest import list_url, task_url

Make = Callable[..., Task]
PAUSE = "/admin/locqueue/queue/mail/pause/"


def page(client: Client, url: str) -> str:
    return client.get(url).content.decode()


# -- cancel


def test_a_cancelled_task_ends_with_the_person_and_the_reason(root: Client, make_task: Make) -> None:
    task = make_task("ready")
    posted = {"confirmed": "yes", "reason": "wrong month"}
    root.post(task_url(task, "cancel"), posted)
    assert Task.objects.get(pk=task.pk).error_message == "by root: wrong month"
    assert "by root: wrong month" in page(root, task_url(task))


def test_a_running_one_keeps_them_until_it_has_stopped(root: Client, make_task: Make) -> None:
    task = make_task("running")
    posted = {"action": "cancel", "_selected_action": [task.pk], "confirmed": "yes", "reason": "wrong\0 month"}
    root.post(list_url("task"), posted)
    assert Task.objects.get(pk=task.pk).cancel_reason == "by root: wrong month"
    assert "by root: wrong month It is interrupted if it does not stop by itself." in page(root, task_url(task))


@pytest.mark.parametrize("name", ["cancel", "delete"])
def test_what_asks_also_asks_why(name: str, root: Client, make_task: Make) -> None:
    assert 'name="reason"' in root.post(task_url(make_task("ready"), name)).content.decode()


# -- run again


@pytest.mark.parametrize("state", ["failed", "cancelled", "successful"])
def test_g5_a_task_that_has_ended_runs_again_as_another_after_a_question(
    state: str, root: Client, make_task: Make
) -> None:
    task = make_task(state, task_path="tests.tasks.add", args_kwargs={"args": [1, 2], "kwargs": {}}, return_value=1)
    assert "Run 1 task again?" in root.post(task_url(task, "again")).content.decode()
    assert Task.objects.count() == 1
    root.post(task_url(task, "again"), {"confirmed": "yes"})
    assert list(Task.objects.order_by("pk").values_list("state", "return_value")) == [(state, 1), ("ready", None)]


@pytest.mark.parametrize("state", ["running", "ready"])
def test_one_that_has_not_ended_does_not(state: str, root: Client, make_task: Make) -> None:
    task = make_task(state, task_path="tests.tasks.add")
    root.post(task_url(task, "again"), {"confirmed": "yes"})
    assert Task.objects.get().state == state


def test_one_whose_function_is_gone_does_not(root: Client, make_task: Make) -> None:
    body = root.post(task_url(make_task("failed"), "again"), {"confirmed": "yes"}, follow=True).content.decode()
    assert "Nothing was added: the task has not ended, its function is gone" in body


def test_it_asks_for_the_permission_to_retry(person: Any, make_task: Make) -> None:
    task = make_task("successful")
    button = f'action="{task_url(task, "again")}'
    assert button not in page(person("view_task", "run_task"), task_url(task))
    assert person("view_task").post(task_url(task, "again"), {"confirmed": "yes"}).status_code == 403
    client = person("view_task", "retry_task")
    assert button in page(client, task_url(task))
    assert client.post(task_url(task, "again"), {"confirmed": "yes"}).status_code == 302
    assert client.get(task_url(task, "again")).status_code == 405


# -- pause


def test_a_pause_with_an_end_says_when_by_whom_and_why(root: Client) -> None:
    Queue.objects.create(name="mail")
    posted = {"confirmed": "yes", "reason": "SMTP is down", "until": "2099-12-01T08:00"}
    root.post(PAUSE, posted)
    queue = Queue.objects.get()
    assert queue.paused_until is not None
    assert queue.paused_until.year == 2099
    body = page(root, list_url("queue"))
    for words in ("until Dec. 1, 2099 08:00:00", "It goes on", "root", "SMTP is down"):
        assert words in body


@pytest.mark.parametrize(
    ("until", "problem"), [("2020-01-01T00:00", "This time has passed."), ("soon", "Enter a valid date/time.")]
)
def test_an_end_that_is_none_is_refused_and_nothing_typed_is_lost(until: str, problem: str, root: Client) -> None:
    Queue.objects.create(name="mail")
    body = root.post(PAUSE, {"confirmed": "yes", "reason": 'SMTP "x"', "until": until}).content.decode()
    assert problem in body
    assert 'value="SMTP &quot;x&quot;"' in body
    assert Queue.objects.get().paused_at is None


def test_what_is_secret_in_the_reason_of_a_pause_is_hidden(root: Client) -> None:
    Queue.objects.create(name="mail", paused_at=timezone.now(), pause_reason="smtp password=hunter2 is wrong")
    for address in (list_url("queue"), list_url("overview")):
        said = page(root, address)
        assert "mail" in said
        assert "hunter2" not in said
    [queue] = snapshot(fresh=True).queues
    assert "hunter2" not in str(queue_json("default", queue))


def test_a_pause_that_is_over_is_not_shown(root: Client) -> None:
    now = timezone.now()
    ended = now - timedelta(minutes=1)
    Queue.objects.create(name="mail", paused_at=now - timedelta(hours=1), paused_by="alice", paused_until=ended)
    body = page(root, list_url("queue"))
    assert "alice" not in body
    assert PAUSE in body


# -- progress, metadata, expiry, names


def test_the_list_of_running_tasks_shows_how_far_they_are(root: Client, make_task: Make) -> None:
    make_task("running", progress=0.4, progress_message="page 4 <of> 10")
    body = page(root, list_url("runningtask"))
    assert '<progress class="lq-progress" value="0.4000" max="1">40 %</progress>' in body
    assert "page 4 &lt;of&gt; 10" in body


def test_words_alone_make_no_bar(root: Client, make_task: Make) -> None:
    task = make_task("running", progress_message="nobody knows")
    for body in (page(root, list_url("runningtask")), page(root, task_url(task))):
        assert "nobody knows" in body
        assert "<progress" not in body


@pytest.mark.parametrize("progress", [-5, 7, 0, 1])
def test_a_number_that_was_edited_by_hand_is_a_bar_all_the_same(progress: float, root: Client, make_task: Make) -> None:
    task = make_task("running", progress=progress)
    assert "<progress" in page(root, task_url(task))


def test_the_page_of_a_task_shows_its_metadata_masked(root: Client, make_task: Make) -> None:
    task = make_task("running", metadata={"page": 4, "password": "hunter2"})
    body = page(root, task_url(task))
    assert "Metadata" in body
    assert "hunter2" not in body
    assert "Metadata" not in page(root, task_url(make_task("running")))


def test_the_page_of_a_task_shows_what_it_logged_masked_and_by_attempt(root: Client, make_task: Make) -> None:
    line = {"time": "2026-12-01T00:00:00.000+00:00", "level": "INFO", "logger": "shop", "message": "password=hunter2"}
    task = make_task("running", log=[{**line, "claim": number, "attempt": number} for number in (1, 2)])
    body = page(root, task_url(task))
    assert "INFO  shop  password=" in body
    assert "<h3>Attempt 2</h3>" in body
    assert "hunter2" not in body
    assert "lq-log-title" not in page(root, task_url(make_task("running")))


def test_the_page_of_a_task_that_nobody_knows_says_since_when(root: Client, make_task: Make) -> None:
    since = get_store().now() - timedelta(minutes=12)
    task = make_task("scheduled", unknown_since=since)
    body = page(root, task_url(task))
    assert "Not known since" in body
    assert "12\xa0minutes ago" in body


@pytest.mark.parametrize(("terms", "shown"), [('{"expires":60}', True), ('{"expires":"x"}', False), ("[", False)])
def test_the_page_of_a_task_says_when_it_expires(terms: str, shown: bool, root: Client, make_task: Make) -> None:
    body = page(root, task_url(make_task("ready", terms=terms)))
    assert ("if it has not started 1\xa0minute after it could" in body) is shown


def test_the_page_of_a_task_names_the_hooks_around_it(root: Client, make_task: Make, settings: Any) -> None:
    url = task_url(make_task("ready"))
    assert "Hooks" not in page(root, url)
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": {"MIDDLEWARE": ["tests.hooks.Noting"]}}}
    assert "tests.hooks.Noting" in page(root, url)


def test_a_task_of_an_old_path_shows_the_function_that_has_its_place(root: Client, make_task: Make) -> None:
    task = make_task("ready", task_path=renamed_tasks.new_name.aliases[1])
    assert ">new_name<" in page(root, list_url("pendingtask"))
    body = page(root, task_url(task))
    assert "tests.gone_module.old_name" in body
    assert "tests.renamed_tasks.new_name" in body


def test_what_runs_is_kept_as_it_is_now_and_nothing_else(root: Client, make_task: Make) -> None:
    running, ended = make_task("running"), make_task("successful")
    for url in (list_url("runningtask"), task_url(running)):
        body = page(root, url)
        assert 'data-lq-refresh="5"' in body
        assert re.search(r'<script src="[^"]*locqueue/locqueue\.js" defer>', body)
    for url in (list_url("failedtask"), list_url("task")):  # where rows are ticked
        assert 'data-lq-refresh="0"' in page(root, url)
    assert "data-lq-refresh" not in page(root, task_url(ended))


def test_a_queue_that_no_worker_has_served_is_offered_as_a_filter(root: Client, make_task: Make) -> None:
    make_task("ready", queue_name="mial")
    assert "?queue=mial" in page(root, list_url("pendingtask"))


def test_what_waits_under_a_limit_is_not_counted_as_ready(root: Client, make_task: Make) -> None:
    make_task("blocked", queue_name="mail", limit_key="c:shop")
    body = page(root, list_url("queue"))
    assert "tab=blocked&amp;queue=mail" in body
    assert "tab=ready&amp;queue=mail" not in body
