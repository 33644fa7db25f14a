"""The tasks: the same functions for every product, by Django's own decorator."""

import time

from benchmarks.models import Entry
from django_locqueue import compat

if compat.IS_DJANGO:
    from django.tasks import task
else:
    from django_tasks import task  # type: ignore[no-redef]


@task
def noop(number: int) -> int:
    return number


@task
def insert(number: int) -> int:
    Entry.objects.create(number=number)
    return number


@task
def arrive(sent: float) -> float:
    """Return the seconds since ``sent``. Both clocks are CLOCK_MONOTONIC, which all processes of a machine share."""
    return time.monotonic() - sent


@task
def arrive_when_due(due: float) -> float:
    return time.time() - due


@task(queue_name="load")
def work(seconds: float) -> None:
    time.sleep(seconds)
