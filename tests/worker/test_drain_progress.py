"""How far a drain is (UI.md 6.4)."""

import io
from datetime import timedelta

import pytest
from django.utils import timezone

from django_locqueue.management import drain
from django_locqueue.worker.options import WorkerOptions
from tests import tasks
from tests.running import our_backend

COUNTS = {"done": 809, "failed": 3, "retried": 5, "cancelled": 0}


def progress(counts, *queues, exclude=(), out=None):
    options = WorkerOptions(name="w:1", threads=4, grace_seconds=25, queues=queues, exclude_queues=exclude, drain=True)
    return drain.DrainProgress(our_backend().store, options, counts, out or io.StringIO())


def test_the_bar_says_how_much_is_done_how_fast_and_how_long_it_will_take():
    assert drain.bar(COUNTS, 812, 478, 13.3) == (
        "Draining  [############--------]  812 of about 1,290   61/s   3 failed   left 0:08"
    )


def test_of_very_many_tasks_there_is_no_bar():
    assert drain.bar(COUNTS, 812, 10_001, 13.3) == "Draining  812 of many   61/s   3 failed"


def test_in_a_log_it_is_a_line_of_numbers():
    assert drain.line(COUNTS, 812, 478, 13.3) == "drain done=809 failed=3 retried=5 left=478 rate=61/s elapsed=13s"


@pytest.mark.django_db
def test_what_is_left_is_what_the_worker_serves_and_is_not_scheduled():
    for queue_name in ("default", "mail", "mail"):
        tasks.add.using(queue_name=queue_name).enqueue(1)
    tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    assert progress(COUNTS).left() == 3
    assert progress(COUNTS, "mail").left() == 2
    assert progress(COUNTS, exclude=("mail",)).left() == 1


@pytest.mark.django_db
def test_it_concludes_with_what_is_still_scheduled():
    assert progress(COUNTS).conclusion() == "Finished: 809 done, 3 failed."
    tasks.add.using(run_after=timezone.now() + timedelta(hours=5)).enqueue(1)
    assert progress({**COUNTS, "cancelled": 2}).conclusion() == (
        "Finished: 809 done, 3 failed, 2 cancelled. 1 scheduled task was not due and is still there (the next in 5 h)."
    )


@pytest.mark.django_db
def test_a_line_of_the_log_clears_the_bar_first(monkeypatch):
    out = io.StringIO()
    out.isatty = lambda: True
    shown = progress(COUNTS, out=out)
    shown.clear()
    assert out.getvalue() == ""
    shown.began -= 10
    shown.run_once()
    assert out.getvalue().startswith(f"{drain.CLEAR}Draining  [####################]  812 of about 812")
    shown.clear()
    assert out.getvalue().endswith(drain.CLEAR)
