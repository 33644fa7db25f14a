"""What is wrong right now, on top of each page."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_locqueue.admin import strip
from django_locqueue.models import Queue, Task, Worker
from django_locqueue.observability.snapshot import snapshot
from tests.admin.conftest import list_url

pytestmark = pytest.mark.any_vendor


def banners_of(client: Client, page: str = "queue") -> list[str]:
    """Return the text of each banner, without its tags."""
    body = client.get(list_url(page)).content.decode()
    found = re.findall(r'<div class="lq-banner[^>]*>(.*?)</div>', body, re.DOTALL)
    return [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", each)).replace("&nbsp;", " ").strip() for each in found]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that has the pages see something else than there is."""

    def see(**changes: Any) -> None:
        monkeypatch.setattr(strip, "snapshot", lambda **options: replace(snapshot(**options), **changes))

    return see


def test_a_queue_that_nobody_serves_says_what_to_type(root: Client, worker: Worker, make_task: Any) -> None:
    make_task("ready", queue_name="mail")
    said = "Queue “mail” has 1 task, but no worker listens to it. Start one: python manage.py runqueue --queue mail"
    assert said in banners_of(root)


def test_without_any_worker_one_banner_says_it_for_all_queues(root: Client, make_task: Any) -> None:
    make_task("ready", queue_name="mail")
    [said] = banners_of(root)
    assert said == "No worker is running. Tasks wait until you start one: python manage.py runqueue"


def test_a_task_that_waits_for_minutes_is_told(root: Client, worker: Worker, make_task: Callable[..., Task]) -> None:
    past = timezone.now() - timedelta(minutes=14)
    make_task("ready", run_after=past, enqueued_at=past)
    assert "The oldest task in “default” has waited 14 minutes." in [
        each.replace("\xa0", " ") for each in banners_of(root)
    ]


def test_a_function_that_is_gone_is_named_with_the_way_to_its_tasks(
    root: Client, worker: Worker, make_task: Any
) -> None:
    for _ in range(2):
        make_task("scheduled", task_path="shop.tasks.old_job", unknown_since=timezone.now())
    assert "2 tasks name a function that no longer exists: shop.tasks.old_job Show" in banners_of(root)


def test_clocks_that_differ_are_told(root: Client, worker: Worker, seen: Callable[..., None]) -> None:
    seen(clock_seconds=-41.2)
    [said] = banners_of(root)
    assert said == "The database clock and this server differ by 41 seconds. Times shown here may be wrong."


def test_numbers_that_could_not_be_read_anew_are_told_to_be_old(
    root: Client, worker: Worker, seen: Callable[..., None]
) -> None:
    seen(late_seconds=180.0)
    [said] = banners_of(root)
    assert said.replace("\xa0", " ") == "The database is slow: the numbers on this page are 3 minutes old."


def test_migrations_that_are_missing_come_first(root: Client, worker: Worker, seen: Callable[..., None]) -> None:
    seen(missing_migrations=("0004_oversight",), workers=())
    [said] = banners_of(root)
    assert said == "The task queue has database changes that are not applied: python manage.py migrate"


@pytest.mark.parametrize("page", ["", "data.json"])
def test_with_migrations_missing_the_overview_reads_nothing_else(
    page: str, root: Client, worker: Worker, seen: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = replace(snapshot(), missing_migrations=("0004_oversight",))
    monkeypatch.setattr("django_locqueue.admin.overview_view.snapshot", lambda: missing)
    seen(missing_migrations=missing.missing_migrations)
    with CaptureQueriesContext(connection) as captured:
        assert root.get(list_url("overview", page)).status_code == 200
    assert not [query["sql"] for query in captured if "locqueue_errorgroup" in query["sql"]]


def test_schedules_without_a_scheduler_are_told(root: Client, worker: Worker, seen: Callable[..., None]) -> None:
    seen(is_scheduling=False)
    assert banners_of(root)[0].startswith("No scheduler is active. Scheduled tasks will not be created.")


def test_read_only_mode_is_told_and_no_queue_can_be_resumed(root: Client, worker: Worker, settings: Any) -> None:
    Queue.objects.create(name="mail", paused_at=timezone.now(), paused_by="alice", pause_reason="SMTP is down")
    settings.LOCQUEUE = {**settings.LOCQUEUE, "ADMIN": {"COUNTS_SECONDS": 0, "READ_ONLY": True}}
    paused, read_only = banners_of(root)
    assert paused == "Queue “mail” was paused by alice now. SMTP is down"
    assert read_only == "Read-only mode: you can look, but not change anything."


def test_names_of_tasks_and_their_numbers_are_for_who_may_see_tasks(
    person: Callable[..., Client], make_task: Any
) -> None:
    Worker.objects.create(name="w", queues="default", lease_until=timezone.now() + timedelta(hours=1))
    make_task("ready", queue_name="mail")
    make_task("scheduled", task_path="shop.tasks.old_job", unknown_since=timezone.now())
    assert banners_of(person("view_queue")) == []


def test_hostile_names_stay_text(root: Client, worker: Worker, make_task: Any) -> None:
    make_task("ready", queue_name="<b>;rm -rf\u202e")
    body = root.get(list_url("queue")).content.decode()
    assert "<b>;rm" not in body
    assert "\u202e" not in body
    assert "runqueue --queue &#x27;&lt;b&gt;;rm -rf\\u202e&#x27;" in body
