"""``queue_status``: what a person reads, what a program gets, and how a probe is answered."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import OperationalError

from django_locqueue.models import Queue, Schedule, Worker
from tests.store.rows import put, put_many, waiting_since

pytestmark = [pytest.mark.django_db, pytest.mark.any_vendor]


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.fixture
def worker(now):
    return new_worker(now)


def new_worker(now, name="web-1:48211", *, silent=0, **columns):
    heard = now - timedelta(seconds=silent)
    columns = {"threads": 4, "queues": "default", "started_at": now - timedelta(hours=1), **columns}
    return Worker.objects.create(name=name, heartbeat_at=heard, lease_until=heard + timedelta(seconds=90), **columns)


def nobody_listens(queue, tasks):
    return f'Queue "{queue}" has {tasks}, but no worker listens to it. Start one: python manage.py runqueue --queue'


@pytest.fixture
def busy(now, worker):
    """Two queues, of which no worker serves one, and a worker that runs a task."""
    put_many(22, run_after=now)
    put_many(9, queue_name="邮件", **waiting_since(now - timedelta(minutes=4)))
    put("scheduled", run_after=now + timedelta(hours=1), attempt=1)
    put("running", worker_id=worker.pk, last_attempted_at=now)


def test_a_person_sees_queues_and_workers_in_columns(busy, typed):
    code, out, err = typed("queue_status")
    first, problem, older, heads, default, mail, worker_heads, worker, *rest = out.splitlines()
    assert first.startswith("CRITICAL   1 worker, 1 of 4 slots busy, oldest task waits 4 min  ")
    assert problem == f"     {nobody_listens('邮件', '9 tasks')} '邮件'"
    assert older == '     The oldest task in "邮件" has waited 4 min'
    assert heads == (
        "QUEUE    STATE      READY  OLDEST  BLOCKED  SCHEDULED  RUNNING  RETRYING  FAILED 24H"
        "  PER MIN  P95 WAIT  WORKERS"
    )
    assert default.split()[:3] == ["default", "active", "22"]
    assert mail == (
        "邮件     no worker      9   4 min        0          0        0         0           0        0"
        "         -        0  <- nobody listens"
    )
    assert worker_heads.split() == ["WORKER", "STATE", "BUSY", "QUEUES", "RUNNING", "HEARTBEAT"]
    assert worker.split()[:5] == ["web-1:48211", "busy", "1/4", "default", "send"]
    assert (code, err, rest) == (0, "", [])


def test_signs_are_ascii_unless_it_is_a_terminal(now, worker, typed):
    Queue.objects.create(name="default")
    _, out, _ = typed("queue_status")
    assert out.isascii()
    terminal = Terminal()
    call_command("queue_status", stdout=terminal)
    assert "–" in terminal.getvalue()


def test_an_empty_queue_says_how_to_begin(now, typed):
    _, out, _ = typed("queue_status")
    assert "No queues yet: they appear when a task or a worker uses them." in out
    assert "No worker is running. Start one: python manage.py runqueue" in out


def test_hostile_names_fake_no_second_line(now, typed):
    put(queue_name="default", run_after=now, task_path="x")
    put("running", worker_id=new_worker(now, "a\x1b[31m\nb\u202e").pk, last_attempted_at=now, task_path="t.\x1b[2J")
    _, out, _ = typed("queue_status")
    assert r"a\x1b[31m\nb\u202e" in out
    assert "\x1b" not in out


def test_programs_get_one_object_on_stdout(busy, typed):
    code, out, err = typed("queue_status", "--json")
    found = json.loads(out)
    assert (code, err, out.count("\n")) == (0, "", 1)
    assert found["status"] == "critical"
    assert (found["totals"]["ready"], found["totals"]["busy"], found["totals"]["slots"]) == (31, 1, 4)
    [default, mail] = found["queues"]
    assert (mail["name"], mail["state"], mail["workers"]) == ("邮件", "no worker", 0)
    assert (default["scheduled"], default["retrying"], default["running"]) == (1, 1, 1)
    assert found["workers"][0]["running"][0]["task"] == "shop.tasks.send"
    assert found["databases"][0]["name"] == "default"


def test_one_queue_is_shown_alone(busy, typed):
    found = json.loads(typed("queue_status", "--json", "--queue", "default")[1])
    assert [queue["name"] for queue in found["queues"]] == ["default"]
    assert found["status"] == "ok"
    text = typed("queue_status", "--queue", "邮件")[1]
    assert "邮件     no worker" in text or "邮件   no worker" in text
    assert "web-1" not in text


def test_a_queue_that_does_not_exist_is_said_with_those_that_do(busy, typed):
    code, out, err = typed("queue_status", "--queue", "defualt")
    assert (code, out) == (3, "")
    assert err == 'Queue "defualt" does not exist. Did you mean "default"? Known queues: default, 邮件.\n'


class TestCheck:
    def check(self, typed, *words):
        code, out, err = typed("queue_status", "--check", *words)
        assert err == ""
        assert out.count("\n") == 1
        return code, out.rstrip()

    def test_all_is_well(self, now, worker, typed):
        put(**waiting_since(now - timedelta(seconds=3)))
        code, line = self.check(typed)
        assert (code, line.startswith("OK   1 worker, 0 of 4 slots busy, oldest task waits ")) == (0, True)

    def test_nothing_waits(self, now, worker, typed):
        assert self.check(typed) == (0, "OK   1 worker, 0 of 4 slots busy, nothing waits")

    def test_no_worker_is_critical(self, now, typed):
        assert self.check(typed) == (
            2,
            "CRITICAL   No worker is running. Tasks wait until you start one: python manage.py runqueue",
        )
        assert self.check(typed, "--min-workers", "0")[0] == 0

    def test_fewer_workers_than_wanted_are_critical(self, now, worker, typed):
        new_worker(now, "web-2:1")
        assert self.check(typed, "--min-workers", "3") == (2, "CRITICAL   2 workers are running, 3 wanted")

    def test_a_task_that_waits_too_long_is_critical(self, now, worker, typed):
        put(**waiting_since(now - timedelta(minutes=14)))
        assert self.check(typed) == (2, 'CRITICAL   The oldest task in "default" has waited 14 min')
        assert self.check(typed, "--max-wait", "3600")[0] == 0

    def test_a_queue_that_nobody_serves_is_critical(self, now, worker, typed):
        put(queue_name="mail", run_after=now)
        assert self.check(typed) == (2, f"CRITICAL   {nobody_listens('mail', '1 task')} mail")
        assert self.check(typed, "--queue", "mail") == (
            2,
            f'CRITICAL   No worker serves queue "mail"; {nobody_listens("mail", "1 task")} mail',
        )
        put(run_after=now)
        assert self.check(typed, "--queue", "default")[0] == 0

    def test_many_failures_are_a_warning(self, now, worker, typed):
        put_many(11, "failed", finished_at=now - timedelta(minutes=30))
        put_many(11, "failed", finished_at=now - timedelta(hours=2))
        assert self.check(typed) == (1, "WARNING   11 tasks failed in the last hour")
        assert self.check(typed, "--max-failed", "11")[0] == 0

    def test_a_paused_queue_in_which_tasks_wait_is_a_warning_and_no_backlog(self, now, worker, typed):
        Queue.objects.create(name="default", paused_at=now)
        assert self.check(typed)[0] == 0
        put(**waiting_since(now - timedelta(hours=1)))
        assert self.check(typed) == (1, 'WARNING   Queue "default" is paused, and 1 task waits in it')

    def test_a_function_that_no_worker_finds_is_a_warning(self, now, worker, typed):
        put("scheduled", run_after=now + timedelta(hours=1), task_path="shop.old", unknown_since=now)
        assert self.check(typed) == (1, "WARNING   1 task names a function that no longer exists: shop.old")

    def test_schedules_that_nobody_serves_are_a_warning(self, now, worker, typed):
        late = now - timedelta(minutes=5)
        Schedule.objects.create(name="often", task_path="tests.tasks.add", every=10, next_at=late)
        assert self.check(typed) == (1, "WARNING   No scheduler is active. Scheduled tasks will not be created")

    def test_what_is_critical_comes_first(self, now, worker, typed):
        put_many(11, "failed", finished_at=now)
        put(**waiting_since(now - timedelta(minutes=14)))
        _, line = self.check(typed)
        assert line == 'CRITICAL   The oldest task in "default" has waited 14 min; 11 tasks failed in the last hour'

    def test_migrations_that_are_not_applied_leave_it_unknown(self, now, worker, typed, monkeypatch):
        monkeypatch.setattr("django_locqueue.observability.snapshot.missing_migrations", lambda alias: ["0009_more"])
        text = "UNKNOWN   The task queue has database changes that are not applied: python manage.py migrate"
        assert self.check(typed) == (3, text)

    def test_a_database_that_does_not_answer_leaves_it_unknown(self, now, typed, monkeypatch):
        def fail(**options):
            raise OperationalError("connection refused\nIs the server running?")

        monkeypatch.setattr("django_locqueue.management.commands.queue_status.snapshots", fail)
        text = "UNKNOWN   The queue's database cannot be read: connection refused"
        assert self.check(typed) == (3, text)
        assert typed("queue_status")[0] == 3  # also without --check: there is nothing to show
        assert json.loads(typed("queue_status", "--json")[1])["status"] == "unknown"


class TestWorkerProbe:
    def test_a_worker_that_lives(self, now, worker, typed):
        said = typed("queue_status", "--worker", "web-1:48211")
        assert said == (0, "OK   worker web-1:48211 is idle, 0 of 4 slots busy\n", "")

    def test_a_worker_that_fell_silent(self, now, typed):
        new_worker(now, silent=70)
        code, out, _ = typed("queue_status", "--worker", "web-1:48211")
        assert (code, out) == (2, "CRITICAL   Worker web-1:48211 was last heard 70 s ago\n")
        assert typed("queue_status", "--worker", "web-1:48211", "--max-age", "80")[0] == 0

    def test_a_worker_without_its_lease_is_lost_whatever_the_age(self, now, typed):
        new_worker(now, silent=100)
        assert typed("queue_status", "--worker", "web-1:48211", "--max-age", "500")[0] == 2

    def test_a_worker_that_stopped_or_never_was(self, now, typed):
        new_worker(now, stopped_at=now)
        said = typed("queue_status", "--worker", "web-1:48211")
        assert said[:2] == (2, "CRITICAL   No worker web-1:48211 runs\n")

    def test_of_two_rows_of_a_name_the_one_counts_that_was_heard_last(self, now, typed):
        new_worker(now, silent=300)
        new_worker(now)
        assert typed("queue_status", "--worker", "web-1:48211")[0] == 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--watch", "0"], "--watch must be a number of seconds above 0, got 0."),
        (["--watch", "nan"], "--watch must be a number of seconds above 0, got nan."),
        (["--max-wait", "-1"], "--max-wait must be 0 or more, got -1."),
        (["--max-age", "5"], "--max-age is of a worker's last sign of life: name it with --worker."),
        (["--watch", "--check"], "--watch goes on, while --check and --worker end with an exit code: choose one."),
        (["--worker", "a", "--json"], "--worker prints one line about one worker: leave out --queue and --json."),
        (["--backend", "other"], "TASKS has no backend 'other' of ours"),
    ],
)
def test_wrong_options_are_refused_with_the_reason(db, typed, words, reason):
    code, _, err = typed("queue_status", *words)
    assert code == 1
    assert err.startswith(reason)


def test_watching_draws_anew_until_ctrl_c(now, worker, monkeypatch):
    terminal, waits = Terminal(), []

    class Interrupted:
        def wait(self, seconds):
            waits.append(seconds)
            if len(waits) == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr("django_locqueue.management.commands.queue_status.threading.Event", Interrupted)
    call_command("queue_status", "--watch", stdout=terminal)  # no exit code: 0
    assert waits == [2.0, 2.0]
    assert terminal.getvalue().count("\x1b[H\x1b[2J") == terminal.getvalue().count("1 worker, ") == 2
