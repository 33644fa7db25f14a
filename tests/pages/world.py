"""A row of everything that pages show, with one text in every field that a task or a request can fill."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.db import models
from django.utils import timezone

from django_locqueue.accesslog.analytics.counting import count
from django_locqueue.accesslog.analytics.period import hour_of
from django_locqueue.accesslog.models import AccessLog, Location, Loss, ProviderState
from django_locqueue.models import (
    Activity,
    BulkOperation,
    ErrorCount,
    ErrorGroup,
    Limit,
    Queue,
    Schedule,
    ScheduleRun,
    Task,
    TaskAttempt,
    TaskStat,
    UniqueItem,
    Worker,
    Workflow,
)
from django_locqueue.policies.terms import Terms
from django_locqueue.store.selection import Selection

APPS = ("locqueue", "locqueue_accesslog")
SECRET = "hunter2-and-more"
PREFIX = "49.65.250.0/24"
IP = "49.65.250.135"

# Fields whose text is not free: read as JSON, or as what it says. World gives them a value that can be.
EXACT = {
    "locqueue.Task": {"state", "args_kwargs", "return_value", "metadata", "log", "terms", "unique_key", "unique_lock"},
    "locqueue.BulkOperation": {"selection", "options", "cursor", "user_id", "verb"},
    "locqueue.Activity": {"selection", "verb"},
    "locqueue.ErrorGroup": {"fingerprint"},
    "locqueue.Schedule": {"name", "args_kwargs", "task_path", "cron", "timezone"},
    "locqueue.Workflow": {"plan"},
    "locqueue_accesslog.AccessLog": {"hit_id", "task_ids"},
    "locqueue_accesslog.Location": {"prefix", "precision"},
    "locqueue_accesslog.HourlyStat": {"key", "histogram"},
    "locqueue_accesslog.Loss": {"loss_id"},
}


class World:
    """Makes the rows: ``text`` in every free field and in every JSON, secrets in all that hides them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.now = timezone.now()
        self.make_queue()
        self.make_log()
        self.fill()

    def make_queue(self) -> None:
        text, now = self.text, self.now
        self.queue = Queue.objects.create(name=text[:128], paused_at=now)
        Queue.objects.create(name="default")
        self.limit = Limit.objects.create(key=f"r:{text}", concurrency=1, paused_until=now + timedelta(hours=1))
        self.worker = Worker.objects.create(name="web-1:1", lease_until=now + timedelta(hours=1))
        self.lost = Worker.objects.create(name="web-2:1", lease_until=now - timedelta(hours=1))
        self.workflow = Workflow.objects.create(plan=[[text, 1], [text, 2]], steps=2, tasks_total=9, failed=9)
        self.group = ErrorGroup.objects.create(fingerprint="f" * 40, total=3)
        ErrorCount.objects.create(group=self.group, hour=hour_of(now), count=3)
        for seconds in (TaskStat.MINUTE, TaskStat.HOUR, TaskStat.DAY):
            start = hour_of(now) - timedelta(days=1) if seconds == TaskStat.DAY else hour_of(now)
            TaskStat.objects.create(seconds=seconds, start=start, succeeded=2, failed=1, wait_seconds=3, run_seconds=4)
        self.tasks = {state: self.make_task(state) for state in STATES}
        TaskAttempt.objects.create(task=self.tasks["failed"], number=1, outcome="failed", finished_at=now)
        UniqueItem.objects.create(task=self.tasks["ready"], lock=text[:255])
        self.schedules = {name: self.make_schedule(name, **fields) for name, fields in SCHEDULES.items()}
        chosen = Selection(listing="failed", queue=text, task=text, worker=text, error=text).as_json()
        self.operation = BulkOperation.objects.create(
            state="running", verb="retry", selection=chosen, upper_id=9, most=9, matched=9, user_id="1"
        )
        self.activity = Activity.objects.create(verb="retry", selection=chosen, changed=1)

    def make_task(self, state: str) -> Task:
        text, now = self.text, self.now
        kind = STATES[state]
        fields: dict[str, Any] = {
            "state": kind,
            "attempt": 1,
            "max_attempts": 5,
            "started_at": now,
            "last_attempted_at": now,
            "finished_at": now if kind in ("failed", "successful", "cancelled") else None,
            "run_after": now + timedelta(hours=1 if kind == "scheduled" else 0),
            "worker": {"running": self.worker, "lost": self.lost}.get(state),
            "workflow": self.workflow if state == "blocked" else None,
            "error_group": self.group if state == "failed" else None,
            "unique_key": f"shop:{text}"[:255],
            "args_kwargs": {"args": [text, secrets(text)], "kwargs": secrets(text)},
            "return_value": secrets(text),
            "metadata": secrets(text),
            "log": [{"claim": 1, "attempt": 1, "level": text, "logger": text, "message": f"token={SECRET} {text}"}],
            "progress": 0.5,
        }
        if state == "again":
            fields |= {"attempt": 2}
        if state == "blocked":
            fields |= {
                "limit_key": self.limit.key,
                "terms": Terms(rate_key=text, rate_limit=1, rate_seconds=1.0).dump(),
            }
        task: Task = Task.objects.create(**fields)
        return task

    def make_schedule(self, name: str, **fields: Any) -> Schedule:
        call: Any = {"args": [1, 2], "kwargs": {}}
        rule: dict[str, Any] = {"task_path": "tests.tasks.add", "every": 10, "timezone": "UTC"}
        if name == "broken":
            rule = {"task_path": self.text, "cron": self.text, "timezone": self.text[:64]}
            call = {"args": [self.text, secrets(self.text)], "kwargs": secrets(self.text)}
        made = {**rule, **fields, "args_kwargs": call, "last_at": self.now, "last_task_id": self.tasks["successful"].pk}
        schedule: Schedule = Schedule.objects.create(name=f"{name} {self.text}"[:128], **made)
        ScheduleRun.objects.create(schedule=schedule, slot=self.now, task_id=self.tasks["successful"].pk)
        return schedule

    def make_log(self) -> None:
        self.location = Location.objects.create(prefix=PREFIX, state="located")
        self.request = AccessLog.objects.create(
            hit_id="a" * 32, time=self.now, ip=IP, location_id=PREFIX, status=500, duration_ms=42
        )
        Loss.objects.create(loss_id="b" * 32, time=self.now, dropped=1, refused=1, errors=1)
        self.service = ProviderState.objects.create(
            name="tests.accesslog.services.Told", trouble="down", changed_at=self.now
        )

    def fill(self) -> None:
        for model in models_of_ours():
            free = {name: said(name, self.text, length) for name, length in free_fields(model)}
            if free:
                model._default_manager.update(**free)
        call = {"args": [1, 2], "kwargs": {}}
        Task.objects.filter(pk=self.tasks["again"].pk).update(
            task_path="tests.tasks.add", backend_alias="default", queue_name="default", args_kwargs=call
        )
        for stat in count(hour_of(self.now)):
            stat.save()


STATES = {
    "ready": "ready",
    "scheduled": "scheduled",
    "running": "running",
    "failed": "failed",
    "cancelled": "cancelled",
    "successful": "successful",
    "again": "successful",
    "blocked": "blocked",
    "lost": "running",
}
SCHEDULES: dict[str, dict[str, Any]] = {
    "on": {"source": "admin", "next_at": timezone.now()},
    "off": {"source": "admin", "enabled": False},
    "code": {"source": "code", "enabled": False, "removed_at": timezone.now()},
    "broken": {"source": "admin", "enabled": False},
}


def secrets(text: str) -> dict[str, Any]:
    """Return JSON with the secret under keys at several depths and in texts, beside the world's own text."""
    return {
        "password": SECRET,
        text: text,
        "deep": [{"token": SECRET, "list": [[{"api_key": SECRET}]], "said": [f"password={SECRET}", text]}],
        "url": f"https://u:{SECRET}@shop.example/",
    }


# Where what an exception or a task says may hold a secret. Names do not, and the access log masks before it stores.
TELLING = {"error_message", "traceback", "progress_message", "message"}


def said(name: str, text: str, length: int | None) -> str:
    if name not in TELLING:
        return text[:length]
    return f"token={SECRET} {text}"[:length]


def models_of_ours() -> list[Any]:
    found = [model for label in APPS for model in apps.get_app_config(label).get_models()]
    return [model for model in found if model._meta.managed and not model._meta.proxy]


def free_fields(model: Any) -> Iterator[tuple[str, int | None]]:
    """Yield name and length of the fields into which any text fits."""
    for field in model._meta.concrete_fields:
        is_text = isinstance(field, models.CharField | models.TextField) and not field.is_relation
        is_free = is_text and not (field.choices or field.unique or field.primary_key)
        if is_free and field.name not in EXACT.get(model._meta.label, ()):
            yield field.name, field.max_length
