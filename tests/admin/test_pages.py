"""What stands on the pages: words, banners, badges, masked values, and nothing that a strict CSP forbids."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.test import Client
from django.utils import timezone

from django_locqueue.models import Activity, Queue, Task, TaskAttempt, Worker
from tests.admin.conftest import PAGES, list_url, task_url

pytestmark = pytest.mark.any_vendor


def body_of(client: Client, url: str, **query: str) -> str:
    return client.get(url, query).content.decode()


def rows_of(client: Client, url: str) -> set[int]:
    return {int(found) for found in re.findall(r'name="_selected_action" value="(\d+)"', body_of(client, url))}


@pytest.mark.parametrize("page", PAGES)
def test_each_list_leads_to_the_others(page: str, root: Client) -> None:
    body = body_of(root, list_url(page)).partition('class="lq-strip"')[2].partition("</ul>")[0]
    assert [name for name in PAGES if f'href="{list_url(name)}"' in body] == list(PAGES)
    assert body.count("aria-current") == 1


def test_the_strip_shows_only_what_one_may_see(person: Callable[..., Client]) -> None:
    body = body_of(person("view_worker"), list_url("worker")).partition('class="lq-strip"')[2].partition("</ul>")[0]
    assert [name for name in PAGES if f'href="{list_url(name)}"' in body] == ["worker"]


@pytest.mark.parametrize(
    ("url", "states"),
    [
        ("pendingtask/", {"ready"}),
        ("pendingtask/?tab=scheduled", {"scheduled", "retrying"}),
        ("pendingtask/?tab=nonsense", {"ready"}),
        ("runningtask/", {"running"}),
        ("failedtask/", {"failed"}),
        ("retriedtask/?tab=all", {"retried", "retrying"}),
        ("retriedtask/?tab=waiting", {"retrying"}),
        ("retriedtask/?tab=succeeded", {"retried"}),
        ("retriedtask/?tab=failed", set()),
        ("task/?state=cancelled", {"cancelled"}),
        ("task/?state=successful", {"successful", "retried"}),
    ],
)
def test_each_list_shows_its_tasks(url: str, states: set[str], root: Client, one_of_each: dict[str, Task]) -> None:
    assert rows_of(root, f"/admin/locqueue/{url}") == {one_of_each[state].pk for state in states}


def test_all_tasks_are_all_tasks(root: Client, one_of_each: dict[str, Task]) -> None:
    assert rows_of(root, list_url("task")) == {task.pk for task in one_of_each.values()}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("pendingtask/", "Nothing is waiting."),
        ("runningtask/", "Nothing is running right now."),
        ("failedtask/", "No failed tasks."),
        ("retriedtask/", "Nothing waits to be tried again."),
        ("task/", "No tasks yet."),
        ("task/?state=failed", "No task matches."),
        ("worker/", "No worker has ever started"),
        ("queue/", "Queues appear here"),
    ],
)
def test_an_empty_list_says_so(url: str, words: str, root: Client) -> None:
    assert words in body_of(root, f"/admin/locqueue/{url}")


class TestBanners:
    def test_without_a_worker_each_page_says_what_to_type(self, root: Client, make_task: Any) -> None:
        for url in (*map(list_url, PAGES), task_url(make_task())):
            body = body_of(root, url)
            assert "No worker is running." in body
            assert "python manage.py runqueue" in body

    def test_with_a_worker_there_is_none(self, root: Client, worker: Worker) -> None:
        assert "No worker is running." not in body_of(root, list_url("task"))

    def test_a_silent_worker_is_none(self, root: Client, worker: Worker) -> None:
        Worker.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
        assert "No worker is running." in body_of(root, list_url("task"))

    def test_a_paused_queue_can_be_resumed_from_each_page(self, root: Client) -> None:
        Queue.objects.create(name="mail", paused_at=timezone.now() - timedelta(minutes=12), paused_by="alice")
        body = body_of(root, list_url("task"))
        assert re.search(r"Queue “mail” was paused by alice <time[^>]*>12.minutes ago</time>\.", body)
        assert 'action="/admin/locqueue/queue/mail/resume/"' in body

    def test_only_who_may_resume_sees_the_button(self, person: Callable[..., Client]) -> None:
        Queue.objects.create(name="mail", paused_at=timezone.now())
        body = body_of(person("view_task"), list_url("task"))
        assert "was paused" in body
        assert "/resume/" not in body


class TestTaskPage:
    def test_it_shows_error_and_traceback(self, root: Client, one_of_each: dict[str, Task]) -> None:
        body = body_of(root, task_url(one_of_each["failed"]))
        assert "<strong>OSError</strong>: disk full" in body
        assert "Traceback (most recent call last):" in body

    def test_it_shows_arguments_by_position_and_name(self, root: Client, make_task: Any) -> None:
        task = make_task(args_kwargs={"args": [991], "kwargs": {"order": {"id": 7}}})
        body = body_of(root, task_url(task))
        assert "<dt>args[0]</dt><dd>991</dd>" in body
        assert "<dt>order</dt>" in body
        assert "<dt>id</dt><dd>7</dd>" in body

    def test_large_integers_stay_whole(self, root: Client, make_task: Any) -> None:
        assert "12345678901234567890123" in body_of(
            root, task_url(make_task(args_kwargs={"args": [12345678901234567890123], "kwargs": {}}))
        )

    def test_it_shows_the_result(self, root: Client, make_task: Any) -> None:
        task = make_task("successful", return_value={"rows": 17})
        assert "<dt>rows</dt><dd>17</dd>" in body_of(root, task_url(task))

    def test_a_successful_try_is_in_the_attempts(self, root: Client, one_of_each: dict[str, Task]) -> None:
        table = body_of(root, task_url(one_of_each["successful"])).partition('class="lq-table"')[2]
        assert "Succeeded" in table
        assert "web-1:1" in table

    @pytest.mark.parametrize(
        ("state", "buttons"),
        [
            ("ready", {"cancel", "delete"}),
            ("scheduled", {"run", "cancel", "delete"}),
            ("running", {"cancel"}),
            ("failed", {"retry", "delete"}),
            ("cancelled", {"retry", "delete"}),
            ("successful", {"delete"}),
        ],
    )
    def test_it_offers_only_what_is_possible(self, state: str, buttons: set[str], root: Client, make_task: Any) -> None:
        task = make_task(state)
        body = body_of(root, task_url(task))
        offered = {name for name in ("retry", "run", "cancel", "delete") if f'"{task_url(task, name)}' in body}
        assert offered == buttons

    def test_it_shows_the_unique_key_and_whether_it_is_held(self, root: Client, make_task: Any) -> None:
        key = "shop.tasks.send:order-7"
        assert "order-7 (held)" in body_of(root, task_url(make_task(unique_key=key, unique_lock=key)))
        body = body_of(root, task_url(make_task("failed", unique_key=key)))
        assert "order-7" in body
        assert "(held)" not in body
        assert "Unique key" not in body_of(root, task_url(make_task()))

    def test_a_state_that_is_not_known_breaks_nothing(self, root: Client, make_task: Any) -> None:
        task = make_task()
        Task.objects.update(state="strange")
        assert root.get(task_url(task)).status_code == 200
        assert root.get(list_url("task")).status_code == 200


class TestMasking:
    SECRET = "hunter2-and-more"

    @pytest.fixture
    def secretive(self, make_task: Callable[..., Task]) -> Task:
        secret = self.SECRET
        task = make_task(
            "failed",
            args_kwargs={"args": [{"deep": [{"api_key": secret}]}], "kwargs": {"password": secret, "n": 1}},
            return_value={"token": secret, "url": f"https://u:{secret}@shop.example/"},
            error_message=f"could not log in with password={secret}",
        )
        TaskAttempt.objects.create(
            task=task,
            number=1,
            outcome="failed",
            worker_name="w",
            finished_at=timezone.now(),
            error_class="X",
            error_message=f"token: {secret}",
            traceback=f"  login(password={secret!r})\nX: postgres://u:{secret}@db/shop",
        )
        return task

    @pytest.mark.parametrize("permissions", [["view_task"], ["view_task", "retry_task", "delete_task"]])
    def test_secrets_are_on_no_page(self, permissions: list[str], person: Any, secretive: Task) -> None:
        client = person(*permissions)
        for url in (list_url("task"), list_url("failedtask"), task_url(secretive)):
            body = body_of(client, url)
            assert self.SECRET not in body
            assert "••••••" in body

    def test_a_secret_that_is_cut_is_masked_in_lists(self, root: Client, make_task: Any) -> None:
        make_task(args_kwargs={"args": [], "kwargs": {"password": "hunter2" * 100}})
        assert "hunter2" not in body_of(root, list_url("pendingtask"))


class TestWorkers:
    @pytest.mark.parametrize(
        ("fields", "word"),
        [
            ({}, "Idle"),
            ({"stop_requested": True}, "Stopping"),
            ({"stopping": True}, "Stopping"),
            ({"stopped_at": "2026-01-01T00:00Z"}, "Stopped"),
            ({"lease_until": "2026-01-01T00:00Z"}, "Lost"),
        ],
    )
    def test_its_state_is_said_in_a_word(self, fields: dict[str, Any], word: str, root: Client, worker: Worker) -> None:
        Worker.objects.update(**fields)
        assert f"</span> {word}</span>" in body_of(root, list_url("worker"))

    def test_it_says_how_many_tasks_it_runs(self, root: Client, worker: Worker, make_task: Any) -> None:
        make_task("running", worker=worker)
        make_task("running", worker=worker)
        body = body_of(root, list_url("worker"))
        assert "2/4" in body
        assert "2 of 4 slots busy" in body
        assert body.count(">send #") == 2

    def test_the_tasks_of_a_lost_one_are_said_to_go_to_others(
        self, root: Client, worker: Worker, make_task: Any
    ) -> None:
        make_task("running", worker=worker)
        Worker.objects.update(lease_until="2026-01-01T00:00Z")
        body = body_of(root, list_url("worker"))
        assert "1 task goes to another worker." in body
        assert "Stop after current tasks" not in body

    def test_it_is_asked_to_stop_by_whom_may(self, person: Any, worker: Worker) -> None:
        url = f"/admin/locqueue/worker/{worker.pk}/stop/"
        assert person("view_worker").post(url).status_code == 403
        client = person("view_worker", "stop_worker")
        assert client.get(url).status_code == 405
        assert "Stop after current tasks" in body_of(client, list_url("worker"))
        for _ in range(2):  # the second time there is nothing to change
            assert client.post(url).status_code == 302
        worker.refresh_from_db()
        assert worker.stop_requested
        activity = Activity.objects.get()
        assert (activity.verb, activity.target) == ("stop_worker", worker.name)
        assert "Stop after current tasks" not in body_of(client, list_url("worker"))


def test_a_queue_says_how_much_waits_and_runs(root: Client, make_task: Any, worker: Worker) -> None:
    Queue.objects.create(name="mail")
    for state, count in (("ready", 3), ("scheduled", 2), ("running", 1)):
        for _ in range(count):
            make_task(state, queue_name="mail", worker=worker if state == "running" else None)
    body = body_of(root, list_url("queue"))
    found = re.findall(r'class="field-(ready|scheduled|running)_column"><a href="[^"]*queue=mail[^"]*">(\d+)<', body)
    assert found == [("ready", "3"), ("scheduled", "2"), ("running", "1")]


def test_a_queue_that_no_worker_has_served_is_listed_and_can_be_paused(root: Client, make_task: Any) -> None:
    make_task("ready", queue_name="mial")
    body = body_of(root, list_url("queue"))
    assert "</span> No worker</span>" in body
    response = root.post("/admin/locqueue/queue/mial/pause/", {"confirmed": "yes"})
    assert response.status_code == 302
    assert Queue.objects.get(pk="mial").paused_at


def test_a_queue_says_how_many_tasks_may_wait(root: Client, settings: Any) -> None:
    Queue.objects.create(name="mail")
    Queue.objects.create(name="other")
    assert "limit_column" not in body_of(root, list_url("queue"))
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": {"MAX_PENDING": {"mail": 10_000}}}}
    found = re.findall(r'class="field-limit_column">([^<]*)<', body_of(root, list_url("queue")))
    assert found == ["10,000", "–"]


def test_a_running_task_of_a_silent_worker_says_so(root: Client, make_task: Any, worker: Worker) -> None:
    make_task("running", worker=worker)
    assert "Worker lost" not in body_of(root, list_url("runningtask"))
    Worker.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert "Worker lost" in body_of(root, list_url("runningtask"))


def test_every_list_is_registered_on_the_default_site() -> None:
    registered = {model._meta.model_name for model in admin.site._registry if model._meta.app_label == "locqueue"}
    assert registered == set(PAGES)
