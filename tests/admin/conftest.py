"""People, rows and pages that the admin tests use."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from django_locqueue.admin.estimate import stored_note
from django_locqueue.models import BulkOperation, Queue, Schedule, ScheduleRun, Task, TaskAttempt, Worker, Workflow
from django_locqueue.observability.snapshot import forget, snapshot

LISTS = ("pendingtask", "runningtask", "failedtask", "retriedtask", "task")
PAGES = ("overview", *LISTS, "worker", "queue", "limit", "schedule", "workflow", "bulkoperation", "activity")


@pytest.fixture
def person(db: None) -> Callable[..., Client]:
    """Return a function that logs a new member of staff in, with the given permissions of our app."""

    def make(*codenames: str, superuser: bool = False) -> Client:
        name = "-".join(codenames) or ("root" if superuser else "staff")
        user = User.objects.create(username=name, is_staff=True, is_superuser=superuser)
        found = Permission.objects.filter(content_type__app_label="locqueue", codename__in=codenames)
        assert len(found) == len(codenames)
        user.user_permissions.set(found)
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def root(person: Callable[..., Client]) -> Client:
    return person(superuser=True)


@pytest.fixture
def make_task(db: None) -> Callable[..., Task]:
    """Return a function that makes a task in a state, with what a task in that state has."""

    def make(state: str = "ready", **fields: Any) -> Task:
        now = timezone.now()
        made: dict[str, Any] = {
            "state": state,
            "task_path": "shop.tasks.send",
            "args_kwargs": {"args": [], "kwargs": {}},
        }
        if state == "scheduled":
            made |= {"run_after": now + timedelta(hours=1)}
        if state in ("running", "successful", "failed"):
            made |= {"attempt": 1, "started_at": now, "last_attempted_at": now, "worker_ids": "web-1:1"}
        if state in ("successful", "failed", "cancelled"):
            made |= {"finished_at": now}
        if state == "failed":
            made |= {"error_class": "builtins.OSError", "error_message": "disk full"}
        task: Task = Task.objects.create(**made | fields)
        return task

    return make


@pytest.fixture
def worker(db: None) -> Worker:
    now = timezone.now()
    lease_until = now + timedelta(hours=1)
    made: Worker = Worker.objects.create(name="web-1:1", queues="default", threads=4, lease_until=lease_until)
    return made


@pytest.fixture
def one_of_each(make_task: Callable[..., Task], worker: Worker) -> dict[str, Task]:
    """A task in each state, one of them retried, with two queues of which one is paused."""
    Queue.objects.create(name="default")
    Queue.objects.create(name="mail", paused_at=timezone.now(), paused_by="alice", pause_reason="SMTP is down")
    tasks = {state: make_task(state) for state in ("scheduled", "ready", "successful", "cancelled", "failed")}
    tasks["running"] = make_task("running", worker=worker)
    tasks["retrying"] = make_task("scheduled", attempt=2, max_attempts=5, error_class="builtins.OSError")
    flow = Workflow.objects.create(name="fetch → mail", plan=[["fetch", 1], ["mail", 2]], steps=2, tasks_total=3)
    tasks["member"] = make_task("blocked", workflow=flow, step=1)
    tasks["retried"] = make_task("successful", attempt=2, max_attempts=5)
    TaskAttempt.objects.create(
        task=tasks["failed"],
        number=1,
        outcome="failed",
        worker_name="web-1:1",
        started_at=timezone.now(),
        finished_at=timezone.now(),
        error_class="builtins.OSError",
        error_message="disk full",
        traceback="Traceback (most recent call last):\nOSError: disk full\n",
    )
    operation = {"verb": "retry", "selection": {"listing": "failed"}, "upper_id": 9, "most": 9, "matched": 1}
    BulkOperation.objects.create(user_name="alice", reason="SMTP is back", **operation)
    for name, columns in SCHEDULES.items():
        last = {"last_at": timezone.now(), "last_task_id": tasks["successful"].pk}
        schedule = Schedule.objects.create(name=name, task_path="tests.tasks.add", timezone="UTC", **columns | last)
        ScheduleRun.objects.create(schedule=schedule, slot=timezone.now(), task_id=tasks["successful"].pk)
        ScheduleRun.objects.create(schedule=schedule, slot=timezone.now(), task_id=None, problem="OSError: no room")
    return tasks


SCHEDULES: dict[str, dict[str, Any]] = {
    "nightly": {"cron": "0 3 * * MON-FRI", "args_kwargs": {"args": [1], "kwargs": {}}, "source": "code"},
    "often": {"every": 10, "args_kwargs": {"args": [1], "kwargs": {}}, "next_at": timezone.now()},
    "broken": {"cron": "0 0 31 4 *", "enabled": False, "problem": "cron never matches a date"},
    "gone": {"cron": "0 3 * * *", "enabled": False, "source": "code", "removed_at": timezone.now()},
}


@pytest.fixture
def kept_snapshot(settings: Any) -> Iterator[None]:
    """The numbers of the queue are there: they are read once in some seconds, for all pages and people."""
    settings.LOCQUEUE = {**settings.LOCQUEUE, "ADMIN": {"COUNTS_SECONDS": 3600}}
    snapshot(fresh=True)
    stored_note()
    yield
    forget()


def list_url(model_name: str, query: str = "") -> str:
    return f"/admin/locqueue/{model_name}/{query}"


def task_url(task: Task, what: str = "change") -> str:
    return f"/admin/locqueue/task/{task.pk}/{what}/"


def schedule_url(schedule: Schedule, what: str = "change") -> str:
    return f"/admin/locqueue/schedule/{schedule.pk}/{what}/"


def all_urls(tasks: dict[str, Task]) -> list[str]:
    """Return every address that shows something."""
    queries = ["", "?queue=default", "?behind=1"]
    urls = [list_url(name, query) for name in LISTS for query in queries]
    urls += [
        list_url("pendingtask", "?tab=scheduled"),
        list_url("task", "?state=failed"),
        list_url("task", "?q=nothing"),
    ]
    urls += [list_url("retriedtask", f"?tab={tab}") for tab in ("succeeded", "failed", "by_hand", "all")]
    urls += [list_url("pendingtask", "?tab=overdue"), list_url("failedtask", "?tab=dismissed")]
    urls += [list_url("failedtask", "errors/"), list_url("failedtask", "tasks/"), list_url("failedtask", "?last=1h")]
    urls += [list_url("overview"), list_url("overview", "?period=7d")]
    urls += [list_url("worker"), list_url("queue"), list_url("schedule"), list_url("schedule", "add/")]
    urls += [schedule_url(schedule) for schedule in Schedule.objects.all()]
    urls += [list_url("limit"), list_url("workflow"), list_url("activity"), list_url("activity", "?verb=retry")]
    urls += [list_url("bulkoperation"), list_url("bulkoperation", "new/?listing=failed&verb=retry")]
    urls += [list_url("bulkoperation", f"{operation.pk}/change/") for operation in BulkOperation.objects.all()]
    for workflow in Workflow.objects.all():
        urls += [list_url("workflow", f"{workflow.pk}/change/"), list_url("task", f"?workflow={workflow.pk}")]
    return urls + [task_url(task) for task in tasks.values()]
