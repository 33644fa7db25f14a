"""Lookups of networks: what is asked for, what waits, and what is found."""

import datetime
from typing import Any

from django.utils import timezone

from django_locqueue.accesslog.locating import locate
from django_locqueue.accesslog.models import Location, ProviderState
from django_locqueue.models import Limit, Task
from django_locqueue.testing import run_tasks

NANJING, SYDNEY = "49.65.250.0/24", "1.1.1.0/24"
NANJING_ROWS = [("49.65.250.0", "49.65.250.255", "中国|0|江苏省|南京市|电信")]  # of an xdb file
FILE = {"provider": "dummy", "places": {NANJING: {"city": "苏州"}}}


def location(state: str = "pending", minutes: float = 0, prefix: str = NANJING, **fields: Any) -> Location:
    """A network whose place was asked for so many minutes ago."""
    asked = timezone.now() - datetime.timedelta(minutes=minutes)
    made: Location = Location.objects.create(prefix=prefix, state=state, requested_at=asked, **fields)
    return made


def place(prefix: str = NANJING) -> Location:
    found: Location = Location.objects.get(pk=prefix)
    return found


def located(*prefixes: str) -> list[str]:
    """Locate the networks, as far as that goes now; return what became of the asking tasks."""
    Location.objects.bulk_create([Location(pk=prefix) for prefix in prefixes], ignore_conflicts=True)
    locate.enqueue([*prefixes])
    return [run.outcome for run in run_tasks(delayed=False) if ".ask_" in run.task_path]


def waiting(task: str = "locate") -> list[list[Any]]:
    """Return the arguments of the waiting tasks of a function."""
    rows = Task.objects.pending().filter(task_path__endswith=f".{task}").order_by("id")
    return [[*row.args_kwargs["args"], *row.args_kwargs["kwargs"].values()] for row in rows]


def waiting_calls() -> list[Task]:
    """Return the tasks that wait to ask a service."""
    return list(Task.objects.pending().filter(task_path__contains=".ask_"))


def let_it_pass() -> None:
    """Put the waiting tasks, the pause of the rate and the breaker into the past."""
    past = timezone.now() - datetime.timedelta(seconds=5)
    Task.objects.pending().update(run_after=past)
    Limit.objects.update(paused_until=None, full_at=None, next_at=None)
    ProviderState.objects.filter(open_until__isnull=False).update(open_until=past)
