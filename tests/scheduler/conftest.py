"""Schedules as rows, and a scheduler over the test database."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import translation

from django_locqueue import registry
from django_locqueue.models import Schedule, ScheduleRun, Task
from django_locqueue.scheduler import defined
from django_locqueue.scheduler.scheduler import Scheduler
from tests.running import our_backend


@pytest.fixture(autouse=True)
def no_decorated_schedules(monkeypatch: Any) -> None:
    """Leave out the schedules that stand above tasks: tests make their own."""
    registry.autodiscover()  # else the first that looks for tasks decorates theirs now
    monkeypatch.setattr(defined, "_decorated", {})


@pytest.fixture(autouse=True)
def in_english() -> Any:
    """A request of another test, in another language, leaves that on the thread."""
    with translation.override("en"):
        yield


@pytest.fixture
def scheduler() -> Scheduler:
    return Scheduler(our_backend().store)


@pytest.fixture
def make_schedule(db: None) -> Callable[..., Schedule]:
    """Return a function that makes a schedule of each minute, due at once."""

    def make(name: str = "nightly", **columns: Any) -> Schedule:
        row: dict[str, Any] = {
            "task_path": "tests.tasks.add",
            "args_kwargs": {"args": [1], "kwargs": {"b": 2}},
            "cron": "" if "every" in columns else "* * * * *",
            "timezone": "UTC",
            "next_at": this_minute(),
        }
        made: Schedule = Schedule.objects.create(name=name, **row | columns)
        return made

    return make


@pytest.fixture(params=[(True, "Asia/Shanghai"), (False, "Asia/Shanghai"), (False, "America/Bogota"), (False, "UTC")])
def zone(request: Any, db: None) -> Any:
    """Run with USE_TZ and TIME_ZONE of the project; give USE_TZ."""
    use_tz, name = request.param

    def forget() -> None:
        for cached in ("timezone", "timezone_name"):
            connection.__dict__.pop(cached, None)
        connection.ensure_timezone()

    with override_settings(USE_TZ=use_tz, TIME_ZONE=name):
        forget()
        yield use_tz
    forget()


def now() -> datetime:
    """Return the database's time."""
    return our_backend().store.now()


_minute: list[datetime] = []


@pytest.fixture(autouse=True)
def one_minute() -> Any:
    """Let ``this_minute`` be the same all through a test, whatever the clock does."""
    _minute.clear()
    yield
    _minute.clear()


def this_minute() -> datetime:
    if not _minute:
        _minute.append(now().replace(second=0, microsecond=0))
    return _minute[0]


def minutes_ago(count: float) -> datetime:
    return this_minute() - timedelta(minutes=count)


def fresh(schedule: Schedule) -> Schedule:
    found: Schedule = Schedule.objects.get(pk=schedule.pk)
    return found


def slots_of(schedule: Schedule) -> list[datetime]:
    return list(ScheduleRun.objects.filter(schedule=schedule).order_by("slot").values_list("slot", flat=True))


def tasks_stored() -> int:
    return int(Task.objects.count())
