"""Whatever stands in a field, a page shows it as text."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from django_locqueue.models import Limit, Queue, Schedule, ScheduleRun, Task, TaskAttempt, Worker, Workflow
from django_locqueue.policies.terms import Terms
from django_locqueue.store import get_store
from tests.admin.conftest import all_urls, list_url, schedule_url, task_url

EVIL = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7|add:7 }}",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "</textarea><svg/onload=alert(1)>",
]
TESTS_OWN = ("<script>alert", "<img src=x", "<svg/onload", ">14<", 'href="javascript', "\u202e")


@pytest.fixture(params=EVIL)
def evil(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def evil_tasks(evil: str, make_task: Callable[..., Task]) -> dict[str, Task]:
    """Tasks in each state with ``evil`` in each field."""
    payload = {"args": [evil], "kwargs": {evil: evil, "nested": {evil: [evil]}}}
    worker = Worker.objects.create(name=evil, queues=evil, version=evil[:32], lease_until=timezone.now())
    Queue.objects.create(name=evil, paused_at=timezone.now(), paused_by=evil, pause_reason=evil)
    fields = {
        "task_path": f"shop.{evil}",
        "queue_name": evil,
        "args_kwargs": payload,
        "worker_ids": evil,
        "error_class": evil,
        "error_message": evil,
        "backend_alias": evil,
        "unique_key": evil,
        "progress_message": evil,
        "metadata": {evil: evil},
        "log": [{"claim": n, **dict.fromkeys(("attempt", "time", "level", "logger", "message"), evil)} for n in (1, 2)],
        "workflow_id": Workflow.objects.create(
            name=evil, plan=[[evil, 1], [evil, 2]], steps=2, tasks_total=9, broken=9, failed=9, cancelled=9
        ).pk,
    }
    by_ids = {"ids": [evil], "options": {evil: evil}}
    for verb in ("retry", "pause", evil):
        get_store().record_activity(
            verb,
            by=evil,
            source=evil,
            target=evil,
            reason=evil,
            selection={"listing": "failed", "queue": evil} if verb == "retry" else by_ids,
        )
    Limit.objects.create(key=f"r:{evil}", concurrency=1, rate=evil)
    tasks = {state: make_task(state, **fields) for state in ("scheduled", "ready", "failed", "cancelled")}
    tasks["successful"] = make_task("successful", **fields | {"attempt": 2, "return_value": {evil: evil}})
    tasks["running"] = make_task("running", **fields | {"worker": worker, "progress": 0.5})
    limited = {"limit_key": f"r:{evil}", "terms": Terms(rate_key=evil, rate_limit=1, rate_seconds=1.0).dump()}
    tasks["blocked"] = make_task("blocked", **fields | limited)
    TaskAttempt.objects.create(
        task=tasks["failed"],
        number=1,
        outcome="failed",
        worker_name=evil,
        finished_at=timezone.now(),
        error_class=evil,
        error_message=evil,
        traceback=f"{evil}\n{evil}",
    )
    call = {"args": [evil], "kwargs": {evil: evil}}
    rule = {"cron": evil, "timezone": evil[:64], "problem": evil, "missed": evil[:4], "source": evil[:5]}
    for enabled in (True, False):
        schedule = Schedule.objects.create(
            name=f"{enabled} {evil}", task_path=evil, args_kwargs=call, enabled=enabled, **rule
        )
        ScheduleRun.objects.create(schedule=schedule, slot=timezone.now(), problem=evil, started_by=evil)
    return tasks


def assert_harmless(body: str, url: str = "") -> None:
    for text in TESTS_OWN:
        assert text not in body, f"{url}: …{body[max(0, body.find(text) - 200) :][:300]}…"


@pytest.mark.any_vendor
def test_g1_no_filter_or_search_lets_it_through(evil: str, evil_tasks: dict[str, Task], root: Client) -> None:
    for name in ("q", "queue", "state", "tab", "behind"):
        response = root.get(list_url("task"), {name: evil}, follow=True)
        assert response.status_code == 200
        assert_harmless(response.content.decode())


@pytest.mark.any_vendor
def test_g1_no_message_or_history_lets_it_through(evil: str, evil_tasks: dict[str, Task], root: Client) -> None:
    response = root.post(task_url(evil_tasks["failed"], "retry"), follow=True)
    assert_harmless(response.content.decode())
    assert_harmless(root.get("/admin/").content.decode().replace("\u202e", ""))  # admin's own list of recent actions


@pytest.mark.any_vendor
@pytest.mark.parametrize("what", ["run", "on", "off"])
def test_changing_a_schedule_lets_nothing_through(evil_tasks: dict[str, Task], root: Client, what: str) -> None:
    for schedule in Schedule.objects.all():
        assert_harmless(root.post(schedule_url(schedule, what), follow=True).content.decode())
        Schedule.objects.filter(pk=schedule.pk).update(source="admin")
        page = root.get(schedule_url(schedule, "edit")).content.decode()
        assert_harmless(page.replace("\u202e", ""))  # what is to be edited stands as it is


@pytest.mark.any_vendor
def test_pausing_lets_nothing_through(evil: str, evil_tasks: dict[str, Task], root: Client) -> None:
    page = root.get(list_url("queue")).content.decode()
    url = page.partition('formaction="')[2].partition('"')[0]
    assert_harmless(root.post(url, follow=True).content.decode())
    root.post(url.replace("/resume/", "/pause/"))
    assert_harmless(root.post(url.replace("/resume/", "/pause/")).content.decode())


def test_characters_that_cannot_be_seen_are_spelled_out(root: Client, make_task: Callable[..., Task]) -> None:
    task = make_task(args_kwargs={"args": ["a\u202eb\x00c\ud800d\u200be\x1b[31m"], "kwargs": {}})
    body = root.get(task_url(task)).content.decode()
    assert r"a\u202eb\u0000c\ud800d\u200be\u001b[31m" in body


@pytest.mark.parametrize("text", ["", "not json <b>", "[1, 2]", '{"args": 5}', "null", "7", '"x"', "[" * 5000, '{"a":'])
def test_a_payload_that_is_no_call_breaks_no_page(text: str, root: Client, make_task: Callable[..., Task]) -> None:
    task = make_task("failed")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE locqueue_task SET args_kwargs = %s, return_value = %s", [text, text])
    assert root.get(list_url("failedtask")).status_code == 200
    response = root.get(task_url(task))
    assert response.status_code == 200
    assert "<b>" not in response.content.decode().partition('id="content-main"')[2]


def test_g3_a_function_that_is_gone_breaks_no_page(root: Client, make_task: Callable[..., Task]) -> None:
    tasks = {state: make_task(state, task_path="gone.module.old_job") for state in ("failed", "successful", "ready")}
    for url in all_urls(tasks):
        assert root.get(url).status_code == 200


def test_g3_no_page_imports_a_task(
    root: Client, make_task: Callable[..., Task], tmp_path: Any, monkeypatch: Any
) -> None:
    (tmp_path / "loud_tasks.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    tasks = {state: make_task(state, task_path="loud_tasks.job") for state in ("failed", "successful", "ready")}
    for url in all_urls(tasks):
        assert root.get(url).status_code == 200
    assert root.post(task_url(tasks["failed"], "retry")).status_code == 302


def test_g7_large_payloads_leave_the_page_small(root: Client, make_task: Callable[..., Task]) -> None:
    task = make_task(
        "successful",
        args_kwargs={"args": ["x" * 7_000_000], "kwargs": {}},
        return_value=list(range(100_000)),
    )
    TaskAttempt.objects.create(
        task=task, number=1, outcome="failed", worker_name="w", finished_at=timezone.now(), traceback="t\n" * 500_000
    )
    assert len(root.get(task_url(task)).content) < 300_000
    assert len(root.get(list_url("task")).content) < 100_000


@pytest.mark.parametrize("value", [[[1] * 40] * 40, {str(n): {"a": n} for n in range(2000)}, ["&" * 60_000]])
def test_payloads_of_many_parts_leave_the_page_small(value: Any, root: Client, make_task: Callable[..., Task]) -> None:
    assert len(json.dumps(value)) < 65_536
    task = make_task("successful", args_kwargs={"args": value, "kwargs": {}}, return_value=value)
    assert len(root.get(task_url(task)).content) < 300_000


def test_thousands_of_attempts_are_shown_in_parts(root: Client, make_task: Callable[..., Task]) -> None:
    task = make_task("failed", attempt=200, max_attempts=200)
    TaskAttempt.objects.bulk_create(
        TaskAttempt(task=task, number=n, outcome="failed", worker_name=f"w-{n}!", finished_at=timezone.now())
        for n in range(1, 201)
    )
    body = root.get(task_url(task)).content.decode()
    assert "w-196!" in body
    assert "w-195!" not in body
    assert "?attempts=195" in body
    further = root.get(task_url(task), {"attempts": "195"}).content.decode()
    assert "w-195!" in further
    assert "w-146!" in further
    assert "w-145!" not in further


@pytest.mark.parametrize("url", ["queue/_00/resume/", "queue/_00/pause/", "limit/_00/resume/"])
def test_no_address_asks_postgresql_for_a_nul(url: str, root: Client) -> None:
    assert root.post(f"/admin/locqueue/{url}").status_code == 404


@pytest.mark.parametrize("what", ["change", "history", "delete"])
def test_nor_does_one_of_the_access_log(what: str, root: Client) -> None:
    assert root.get(f"/admin/locqueue_accesslog/location/_00/{what}/").status_code in (302, 404)
