"""``queue_prune``: what ended longer ago than it is kept goes, after it was said and meant."""

from datetime import timedelta

import pytest

from django_locqueue.management import queue_command
from django_locqueue.models import Activity, Task, Worker
from tests.store.rows import put, put_many

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


@pytest.fixture(autouse=True)
def typed_by_alice(monkeypatch):
    monkeypatch.setattr(queue_command.getpass, "getuser", lambda: "alice")


@pytest.fixture
def old(now):
    """Two that succeeded eight days ago, and one that failed 31 days ago, beside what is kept."""
    put_many(2, "successful", finished_at=now - timedelta(days=8))
    put("failed", finished_at=now - timedelta(days=31))
    put("failed", finished_at=now - timedelta(days=29))
    put("cancelled", finished_at=now)


def test_a_dry_run_says_by_outcome_what_would_go(old, typed):
    code, out, err = typed("queue_prune", "--dry-run")
    assert (code, err) == (0, "")
    assert out == (
        "OUTCOME    KEPT     TO BE DELETED\n"
        "succeeded  7 days               2\n"
        "failed     30 days              1\n"
        "cancelled  30 days              0\n"
        "Nothing was deleted: this was a dry run.\n"
    )
    assert Task.objects.count() == 5


def test_what_is_meant_is_deleted_and_written_down(old, now, typed):
    Worker.objects.create(name="web-1:1", stopped_at=now - timedelta(days=2))
    code, out, _ = typed("queue_prune", "--yes")
    last = out.splitlines()[-1]
    assert (code, last) == (0, "Deleted 3 tasks: 2 succeeded, 1 failed. 1 row of stopped workers went too.")
    assert sorted(Task.objects.values_list("state", flat=True)) == ["cancelled", "failed"]
    [activity] = Activity.objects.all()
    assert (activity.verb, activity.user_name, activity.source, activity.changed) == ("prune", "alice", "command", 3)


def test_where_nobody_can_be_asked_it_wants_to_be_told(old, typed, monkeypatch):
    monkeypatch.setattr(queue_command, "can_ask", lambda: False)
    code, _, err = typed("queue_prune")
    assert (code, err) == (1, "Nobody is there to be asked. If you mean it, add --yes.")
    assert Task.objects.count() == 5


@pytest.mark.parametrize(("answer", "left"), [("y", 2), ("", 5), ("n", 5)])
def test_a_person_is_asked(old, typed, monkeypatch, answer, left):
    asked = []
    monkeypatch.setattr(queue_command, "can_ask", lambda: True)
    monkeypatch.setattr("builtins.input", lambda text: asked.append(text) or answer)
    typed("queue_prune")
    assert (asked, Task.objects.count()) == (["Delete 3 tasks? [y/N] "], left)


def test_where_there_is_nothing_nobody_is_asked(db, typed):
    code, out, _ = typed("queue_prune")
    assert (code, out.splitlines()[-1]) == (0, "Deleted 0 tasks.")
    assert not Activity.objects.exists()


def test_it_is_the_retention_of_the_backend(old, typed, settings):
    options = {"RETENTION": {"FAILED": None, "CANCELLED": 0}}
    settings.TASKS = {"default": {**settings.TASKS["default"], "OPTIONS": options}}
    _, out, _ = typed("queue_prune", "--dry-run")
    assert [line.split() for line in out.splitlines()[1:4]] == [
        ["succeeded", "7", "days", "2"],
        ["failed", "for", "ever", "-"],
        ["cancelled", "0", "days", "1"],
    ]
