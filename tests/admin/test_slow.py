"""A running task that takes much longer than its like is marked."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from django_locqueue import clock
from django_locqueue.admin import slow
from django_locqueue.models import Task, TaskStat, Worker
from tests.admin.conftest import list_url

pytestmark = pytest.mark.any_vendor


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    slow.forget()
    yield
    slow.forget()


@pytest.mark.parametrize(("minutes", "marked"), [(0, False), (60, True)])
def test_it_is_marked_from_three_times_its_p95(
    minutes: int, marked: bool, root: Client, make_task: Callable[..., Task], worker: Worker
) -> None:
    hour = clock.floor(timezone.now(), 3600)
    # With nine of ten seconds, 30 are slow.
    counts: dict[str, Any] = {"queue_name": "default", "task_path": "shop.tasks.send", "succeeded": 9, "run_10": 9}
    TaskStat.objects.create(seconds=TaskStat.HOUR, start=hour, **counts)
    make_task("running", worker=worker, last_attempted_at=timezone.now() - timedelta(minutes=minutes))
    assert ("It has run for more than 3 times its p95." in root.get(list_url("runningtask")).content.decode()) == marked


def test_a_task_that_never_ended_before_is_not_marked(
    root: Client, make_task: Callable[..., Task], worker: Worker
) -> None:
    make_task("running", worker=worker, last_attempted_at=timezone.now() - timedelta(days=1))
    assert "3 times its p95" not in root.get(list_url("runningtask")).content.decode()
