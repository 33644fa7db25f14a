"""The commands that pause a queue and cancel tasks."""

import argparse
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command

from django_locqueue import compat, queues
from django_locqueue.management import queue_command
from django_locqueue.management.times import until
from django_locqueue.models import Queue, State, Task
from tests import tasks
from tests.running import our_backend, row

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def typed_by_alice(monkeypatch):
    monkeypatch.setattr(queue_command.getpass, "getuser", lambda: "alice")


def said(capsys, *words, **options):
    """Return what a command says on both streams."""
    call_command(*words, **options)
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_a_queue_is_paused_with_who_and_why(capsys):
    Queue.objects.create(name="mail")
    tasks.add.using(queue_name="mail").enqueue(1)
    Task.objects.update(state=State.RUNNING)
    assert said(capsys, "queue_pause", "mail", "--reason", "SMTP is down") == (
        "Queue mail is paused. 1 running task finishes.\n"
    )
    queue = Queue.objects.get(name="mail")
    assert (queue.paused_by, queue.pause_reason, queue.paused_until) == ("alice", "SMTP is down", None)


def test_a_pause_ends_when_it_was_said(capsys):
    Queue.objects.create(name="mail")
    said(capsys, "queue_pause", "mail", "--until", "30m")
    left = Queue.objects.get(name="mail").paused_until - our_backend().store.now()
    assert timedelta(minutes=29) < left <= timedelta(minutes=30)


def test_a_name_that_no_worker_knows_is_told(capsys):
    Queue.objects.create(name="mail")
    text = said(capsys, "queue_pause", "mial")
    assert "No worker has served a queue mial yet. There are: mail." in text
    assert Queue.objects.filter(name="mial", paused_at__isnull=False).exists()


def test_a_second_pause_and_a_second_resume_are_errors(capsys):
    call_command("queue_pause", "mail")
    with pytest.raises(CommandError, match="paused already"):
        call_command("queue_pause", "mail")
    assert "Queue mail goes on.\n" in said(capsys, "queue_resume", "mail")
    with pytest.raises(CommandError, match="is not paused"):
        call_command("queue_resume", "mail")


@pytest.mark.parametrize("words", [["mail", "--until", "2020-01-01 00:00"], ["mail", "--until", "0s"]])
def test_a_time_that_has_passed_is_refused(words):
    with pytest.raises(CommandError, match="--until must be in the future"):
        call_command("queue_pause", *words)
    assert not Queue.objects.filter(paused_at__isnull=False).exists()


@pytest.mark.parametrize("name", ["", "x" * 129, "a\nb"])
def test_a_name_that_no_queue_can_have_is_refused(name):
    with pytest.raises(CommandError, match="1 to 128 printable characters"):
        call_command("queue_pause", name)


def test_a_backend_that_is_none_is_refused():
    with pytest.raises(CommandError, match="TASKS has no backend 'defualt' of ours; did you mean 'default'"):
        call_command("queue_resume", "mail", "--backend", "defualt")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("30s", timedelta(seconds=30)),
        ("2h", timedelta(hours=2)),
        ("1 d", timedelta(days=1)),
        ("2026-12-01 08:00", datetime(2026, 12, 1, 8, tzinfo=UTC)),
        ("2026-12-01T08:00:00+02:00", datetime(2026, 12, 1, 6, tzinfo=UTC)),
    ],
)
def test_times_as_a_person_types_them(text, meant):
    assert until(text) == meant


@pytest.mark.parametrize("text", ["", "soon", "30", "-5m", "2026-13-01 08:00", "99999999d"])
def test_what_is_no_time_says_how_to_write_one(text):
    with pytest.raises(argparse.ArgumentTypeError, match="30m"):
        until(text)


def test_tasks_are_cancelled_by_their_ids(capsys):
    waiting, running, ended = (tasks.add.enqueue(number) for number in range(3))
    Task.objects.filter(pk=int(running.id)).update(state=State.RUNNING)
    Task.objects.filter(pk=int(ended.id)).update(state=State.SUCCESSFUL)
    with pytest.raises(CommandError, match=f"Nothing to cancel: task #{ended.id} had ended before"):
        call_command("queue_cancel", waiting.id, running.id, ended.id, "--reason", "wrong month", "--yes")
    assert capsys.readouterr().out == (
        f"Cancelled task #{waiting.id}.\nAsked task #{running.id} to stop, which runs.\n"
    )
    assert (row(waiting).state, row(waiting).error_message) == (State.CANCELLED, "by alice: wrong month")
    assert (row(running).cancel_requested, row(running).cancel_reason) == (True, "by alice: wrong month")


def test_a_user_without_a_name_is_none(monkeypatch):
    def nobody():
        raise KeyError("getpwuid(): uid not found: 12345")

    monkeypatch.setattr(queue_command.getpass, "getuser", nobody)
    assert queue_command.person_name() == ""


# -- from code


def test_a_queue_is_paused_and_resumed_from_code():
    end = our_backend().store.now() + timedelta(hours=1)
    assert queues.pause("mail", by="alice", reason="SMTP is down", until=end)
    assert not queues.pause("mail")
    assert Queue.objects.get(name="mail").paused_until == end
    assert queues.resume("mail")
    assert not queues.resume("mail")


def test_from_code_too_a_time_that_has_passed_is_refused():
    with pytest.raises(ValueError, match="until must be in the future"):
        queues.pause("mail", until=datetime(2020, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("name", ["", "a\nb", "\0", "\ud800", "x" * 129, None])
def test_from_code_too_a_name_that_no_queue_can_have_is_refused(name):
    with pytest.raises(ValueError, match="must be 1 to 128 printable characters"):
        queues.pause(name)


@pytest.mark.parametrize("name", ["all", "a,b", "-mail"])
def test_a_name_that_a_workers_choice_of_queues_would_take_for_more_is_refused(name):
    for enter in (queues.pause, lambda name: tasks.add.using(queue_name=name)):
        with pytest.raises((ValueError, compat.InvalidTask), match="these choose among queues"):
            enter(name)
