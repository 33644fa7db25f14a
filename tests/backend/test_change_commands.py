"""Commands that change tasks say what they will do, ask, and write down who it was."""

import builtins
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from django_locqueue.admin.task_files import FIELDS
from django_locqueue.management import change_command, queue_command
from django_locqueue.management.selecting import selection_of
from django_locqueue.models import Activity, BulkOperation, Queue, Schedule, Task, TaskAttempt
from django_locqueue.policies.masking import MASK
from django_locqueue.store import bulk, store_for
from django_locqueue.store.selection import Selection
from tests import tasks
from tests.store.rows import put, put_many

pytestmark = [pytest.mark.django_db]


@pytest.fixture(autouse=True)
def alice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django_locqueue.management.queue_command.getpass.getuser", lambda: "alice")


@pytest.fixture
def failed(db: None) -> None:
    ended = {"finished_at": timezone.now() - timedelta(minutes=1), "error_class": "smtplib.SMTPException"}
    put_many(12, "failed", task_path="shop.tasks.send_receipt", queue_name="mail", **ended)
    put_many(2, "failed", task_path="shop.tasks.send_invoice", queue_name="mail", **ended)
    put("failed", **ended)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return a function that runs a command and returns what it prints."""

    def call(name: str, *arguments: Any) -> str:
        call_command(name, *(str(each) for each in arguments))
        return capsys.readouterr().out

    return call


MAIL = ("--filter", "queue=mail")
WHAT = "Retry 14 tasks (failed, queue=mail): send_receipt 12, send_invoice 2\n"


def answer(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """Let somebody sit at the terminal and type the answer; return what was asked."""
    asked: list[str] = []
    monkeypatch.setattr(queue_command, "can_ask", lambda: True)
    monkeypatch.setattr(builtins, "input", lambda question: asked.append(question) or text)  # type: ignore[func-returns-value]
    return asked


def test_a_dry_run_says_what_would_be_done(run: Any, failed: None) -> None:
    assert run("queue_retry", *MAIL, "--dry-run", "--yes") == f"{WHAT}Nothing was changed: this was a dry run.\n"
    assert Task.objects.ready().count() == 0
    assert not BulkOperation.objects.exists()


def test_it_asks_and_takes_no_for_an_answer(run: Any, failed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, "")
    assert run("queue_retry", *MAIL) == f"{WHAT}Nothing was changed.\n"
    assert asked == ["Retry 14 tasks? [y/N] "]
    assert Task.objects.ready().count() == 0


def test_it_asks_and_does_what_is_meant(run: Any, failed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "y")
    monkeypatch.setattr(bulk, "BATCH", 5)
    assert run("queue_retry", *MAIL, "--reason", "SMTP is back") == f"{WHAT}Retried 14 tasks.\n"
    assert set(Task.objects.ready().values_list("queue_name", "retried_by")) == {("mail", "alice")}
    activity = Activity.objects.get()
    assert (activity.verb, activity.user_name, activity.reason) == ("retry", "alice", "SMTP is back")
    assert (activity.selection, activity.changed) == ({"listing": "failed", "queue": "mail"}, 14)


@pytest.mark.parametrize("by_id", [False, True])
def test_where_nobody_can_be_asked_it_refuses(
    run: Any, failed: None, by_id: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_command, "can_ask", lambda: False)
    with pytest.raises(CommandError, match=r"Nobody is there to be asked\. If you mean it, add --yes\."):
        run("queue_retry", *([Task.objects.order_by("pk")[0].pk] if by_id else MAIL))
    assert Task.objects.ready().count() == 0


def test_tasks_are_retried_by_their_ids(run: Any, failed: None) -> None:
    first = Task.objects.order_by("pk")[0].pk
    ready = put()
    with pytest.raises(CommandError, match=f"Nothing to retry: task #{ready} had not failed"):
        run("queue_retry", first, ready, "--yes")
    activity = Activity.objects.get()
    assert (activity.verb, activity.source, activity.selection) == ("retry", "command", {"ids": [first, ready]})
    assert (activity.matched, activity.changed, activity.skipped) == (2, 1, 1)


def test_all_that_match_are_deleted(run: Any, failed: None) -> None:
    assert (
        run("queue_delete", "--filter", "listing=failed", "task=shop.tasks.send_invoice", "--yes")
        == "Deleted 2 tasks.\n"
    )
    assert Task.objects.count() == 13


def test_all_that_match_are_cancelled(run: Any) -> None:
    put_many(3, queue_name="mail")
    assert run("queue_cancel", "--filter", "listing=ready", "queue=mail", "--yes") == "Cancelled 3 tasks.\n"


def test_no_more_than_asked_for_are_changed(run: Any, failed: None) -> None:
    assert run("queue_retry", *MAIL, "--most", "3", "--yes") == "Retried 3 tasks.\n"
    assert Task.objects.filter(state="ready").count() == 3


def test_it_may_be_left_to_the_workers(run: Any, failed: None) -> None:
    said = run("queue_retry", *MAIL, "--background", "--rate", "5/s", "--yes")
    operation = BulkOperation.objects.get()
    assert said == f"The workers do it: bulk operation #{operation.pk}.\n"
    assert (operation.rate, operation.user_id, operation.matched) == (300, "", 14)


def test_what_somebody_does_already_is_left_to_it(run: Any, failed: None) -> None:
    other = store_for("default").add_bulk("retry", Selection("failed", queue="mail"), by="bob", matched=14)
    said = run("queue_retry", *MAIL, "--yes")
    assert said == f"Bulk operation #{other.pk} of bob does the same already.\n"
    assert not BulkOperation.objects.get().changed


def test_ctrl_c_stops_it(run: Any, failed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(change_command, "change_next", interrupt)
    with pytest.raises(CommandError, match="Stopped by alice"):
        run("queue_retry", *MAIL, "--yes")
    assert BulkOperation.objects.get().state == "stopped"


def test_where_nothing_matches_nothing_is_asked(run: Any) -> None:
    assert run("queue_retry", *MAIL) == "No task matches: failed, queue=mail\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Say what to retry: ids, or --filter KEY=VALUE"),
        (("1", *MAIL), "one of the two"),
        (("1", "--rate", "5/s"), "go with --filter"),
        (("--filter", "queue=mail", "--most", "0"), "give a number from 1"),
        (("--filter", "mail"), "--filter takes KEY=VALUE, such as queue=mail; got 'mail'."),
        (("--filter", "que=mail"), "--filter does not know 'que'. Did you mean 'queue'?"),
        (("--filter", "listing=broken"), "listing must be one of ready, overdue"),
        (("--filter", "last=week"), "last must be one of 1h, 24h, 7d"),
        (("--filter", "queue=mail", "--rate", "fast"), "give 100/min or 5/s"),
    ],
)
def test_an_error_is_a_sentence_with_its_cure(run: Any, arguments: Any, said: str) -> None:
    with pytest.raises(CommandError) as error:
        run("queue_retry", *arguments)
    assert said in str(error.value)


def test_what_to_delete_must_be_named(run: Any) -> None:
    with pytest.raises(CommandError, match="Say which tasks: --filter listing=… Known listings: ready"):
        run("queue_delete", *MAIL, "--yes")


# -- commands that only look


def test_tasks_are_listed_as_a_table(run: Any, failed: None) -> None:
    heading, *lines = run("queue_list", "--state", "failed", "--queue", "mail").splitlines()
    assert heading.split() == ["ID", "TASK", "STATE", "QUEUE", "TIME", "ATTEMPT", "ERROR"]
    assert len(lines) == 14
    assert all(line.split()[1] in ("send_receipt", "send_invoice") for line in lines)
    assert lines[0].endswith("SMTPException")


def test_a_list_that_is_cut_says_so(run: Any, failed: None) -> None:
    assert run("queue_list", "--state", "failed", "--limit", 3).splitlines()[-1].startswith("More than 3 match")
    assert json.loads(run("queue_list", "--limit", 3, "--json"))["more"] is True


@pytest.mark.parametrize("state", ["scheduled", "running", "successful", "failed", "cancelled", "retrying", "ready"])
def test_each_state_has_its_list(run: Any, state: str) -> None:
    ended = {"finished_at": timezone.now()} if state in ("successful", "failed", "cancelled") else {}
    pk = put("scheduled" if state == "retrying" else state, attempt=1 if state == "retrying" else 0, **ended)
    put("blocked", limit_key="x")
    found = json.loads(run("queue_list", "--state", state, "--json"))["tasks"]
    assert [(task["id"], task["state"]) for task in found] == [(pk, "scheduled" if state == "retrying" else state)]


def test_where_nothing_matches_the_list_says_so(run: Any) -> None:
    assert run("queue_list", "--state", "ready") == "No task matches: ready\n"


def test_what_is_said_of_a_filter_can_be_typed_again(run: Any) -> None:
    said = run("queue_list", "--filter", "listing=retried", "by_hand=no", "q=send", "worker=w:1")
    assert said == "No task matches: retried, worker=w:1, by_hand=no, q=send\n"
    again = said.removeprefix("No task matches: ").strip().split(", ")
    assert run("queue_list", "--filter", f"listing={again[0]}", *again[1:]) == said


def test_the_last_hour_is_counted_by_the_clock_of_the_database_that_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, other = store_for("default"), timezone.now() - timedelta(days=400)
    monkeypatch.setattr(store, "now", lambda: other)
    assert selection_of(store, ["last=1h"], listing="failed").since == other - timedelta(hours=1)


def test_a_queue_that_is_misspelt_is_named(run: Any) -> None:
    Queue.objects.create(name="default")
    Queue.objects.create(name="mail")
    said = "No task matches: queue “mial” does not exist. Known queues: default, mail.\n"
    assert run("queue_list", "--queue", "mial") == run("queue_retry", "--filter", "queue=mial") == said


def secret_task() -> int:
    pk = put(
        "failed",
        args_kwargs={"args": [1], "kwargs": {"password": "hunter2", "order": {"token": "hunter2", "id": 991}}},
        error_class="builtins.OSError",
        error_message="password=hunter2",
        finished_at=timezone.now(),
        attempt=1,
        log=[
            {"claim": 1, "attempt": 1, "time": "2026-11-30T15:00:00.000+00:00", "level": "INFO", "logger": "shop"}
            | {"message": "signed in with password=hunter2\x1b[2J"}
        ],
    )
    moment = timezone.now()
    TaskAttempt.objects.create(
        task_id=pk,
        number=1,
        outcome="failed",
        worker_name="web-1:1",
        started_at=moment,
        finished_at=moment,
        error_class="builtins.OSError",
        traceback="Traceback …\nOSError: password=hunter2\x1b[2J\n",
    )
    return pk


@pytest.mark.parametrize("arguments", [(), ("--json",)])
def test_a_task_is_shown_whole_but_for_its_secrets(run: Any, arguments: Any) -> None:
    said = run("queue_show", secret_task(), *arguments)
    assert "991" in said
    assert "OSError" in said
    assert "signed in with password=" in said
    assert "hunter2" not in said
    assert "\x1b" not in said


def test_a_program_gets_the_task_as_one_object(run: Any) -> None:
    found = json.loads(run("queue_show", secret_task(), "--json"))
    assert found["kwargs"] == {"password": MASK, "order": {"token": MASK, "id": 991}}
    assert [attempt["outcome"] for attempt in found["attempts"]] == ["failed"]


def test_a_task_that_is_gone_is_said_to_be(run: Any) -> None:
    with pytest.raises(CommandError, match=r"Task #7 does not exist\."):
        run("queue_show", 7)


def test_schedules_are_listed(run: Any) -> None:
    Schedule.objects.create(name="nightly", task_path="shop.tasks.report", cron="0 3 * * *", next_at=timezone.now())
    Schedule.objects.create(name="often", task_path="shop.tasks.look", every=10, enabled=False, problem="OSError: ?")
    heading, nightly, often, count = run("queue_schedules").splitlines()
    assert heading.split() == ["NAME", "TASK", "WHEN", "NEXT", "LAST", "SOURCE", "PROBLEM"]
    assert nightly.startswith("nightly  report  0 3 * * *")
    assert "off" in often
    assert often.endswith("OSError: ?")
    assert count == "1 on, 1 off"
    names = [schedule["name"] for schedule in json.loads(run("queue_schedules", "--json"))["schedules"]]
    assert names == ["nightly", "often"]


# -- adding


def test_a_task_is_added_by_hand(run: Any) -> None:
    said = run("queue_enqueue", "tests.tasks.add", "--args", "[1]", "--kwargs", '{"b": 2}', "--reason", "try")
    task = Task.objects.get()
    assert said == f"add was added to queue default as #{task.pk}.\n"
    assert task.args_kwargs == {"args": [1], "kwargs": {"b": 2}}
    activity = Activity.objects.get()
    assert (activity.verb, activity.user_name, activity.target) == ("enqueue", "alice", str(task.pk))


def test_it_may_have_another_queue_priority_and_time(run: Any) -> None:
    run("queue_enqueue", "tests.tasks.add", "--args", "[1]", "--queue", "mail", "--priority", "5", "--at", "2h")
    task = Task.objects.get()
    assert (task.queue_name, task.priority, task.state) == ("mail", 5, "scheduled")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("tests.tasks.ad", "--args", "[1]"), "Did you mean 'tests.tasks.add'?"),
        (("os.system", "--args", '["ls"]'), "'os.system' is no task"),
        (("tests.tasks.add",), "--args do not fit add"),
        (("tests.tasks.add", "--args", "{1}"), "this is no JSON"),
        (("tests.tasks.add", "--args", '{"a": 1}'), "must be a list"),
        (("tests.tasks.add", "--args", "[1]", "--queue", ""), "--queue must be 1 to 128 printable characters"),
    ],
)
def test_what_cannot_be_added_is_refused_with_the_reason(run: Any, arguments: Any, said: str) -> None:
    assert tasks.add.module_path == "tests.tasks.add"
    with pytest.raises(CommandError) as error:
        run("queue_enqueue", *arguments)
    assert said in str(error.value)
    assert not Task.objects.exists()


# -- the configuration


@pytest.mark.any_vendor
class TestCheck:
    def test_a_good_configuration_is_said_to_be(self, run: Any) -> None:
        assert "OK  the queue is configured" in run("queue_check")

    def test_an_error_is_printed_with_its_cure(self, settings: Any, capsys: Any) -> None:
        settings.LOCQUEUE = {"WORKERS": {}}
        with pytest.raises(CommandError, match=r"1 error in the configuration of the queue\."):
            call_command("queue_check")
        assert (
            "locqueue.E011  LOCQUEUE has the unknown key 'WORKERS'; did you mean 'WORKER'?" in capsys.readouterr().out
        )

    def test_a_project_without_our_backend_is_told_what_to_write(self, settings: Any) -> None:
        settings.TASKS = {}
        with pytest.raises(CommandError, match=r"TASKS has no backend of ours\. Add:"):
            call_command("queue_check")


@pytest.mark.any_vendor
def test_the_names_in_json_are_those_of_the_lists_in_admin(run: Any) -> None:
    put("ready")
    [task] = json.loads(run("queue_list", "--json"))["tasks"]
    assert task.keys() <= set(FIELDS)
