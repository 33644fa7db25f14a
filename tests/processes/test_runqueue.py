"""The command: what it says, how it ends, and what it does with wrong options (UI.md 6.3 to 6.5)."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from django_locqueue import __version__
from django_locqueue.models import State, Worker
from tests import retried_tasks, tasks
from tests.processes import environment, wait_until
from tests.running import enqueue_as, row

pytestmark = [pytest.mark.processes, pytest.mark.django_db(transaction=True), pytest.mark.any_vendor]


def test_drain_runs_what_is_ready_and_leaves_with_0(run_fast_worker):
    done = tasks.add.enqueue(1)
    failed = tasks.fail.enqueue()
    later = tasks.add.using(run_after=timezone.now() + timedelta(hours=1)).enqueue(1)
    assert run_fast_worker("--drain").wait() == 0
    assert [row(result).state for result in (done, failed, later)] == [State.SUCCESSFUL, State.FAILED, State.SCHEDULED]


def test_drain_with_nothing_to_do_leaves_with_0(run_fast_worker):
    worker = run_fast_worker("--drain")
    assert worker.wait() == 0
    assert worker.lines[-1] == "Finished: 0 done, 0 failed."


def test_drain_tells_by_its_exit_code_that_a_task_has_failed_if_it_was_asked_to(run_fast_worker):
    tasks.fail.enqueue()
    assert run_fast_worker("--drain", "--fail-on-error").wait() == 3


def test_drain_leaves_with_4_when_its_time_is_over_and_gives_back_what_runs(run_fast_worker, ledger):
    result = tasks.wait_for_go.enqueue(ledger.path)
    worker = run_fast_worker("--drain", "--timeout", "1", "--grace", "0")
    assert worker.wait() == 4
    assert "Not drained after 1 s" in worker.output
    assert row(result).state == State.READY


def test_drain_until_empty_waits_for_what_is_scheduled(run_fast_worker):
    later = tasks.add.using(run_after=timezone.now() + timedelta(seconds=1)).enqueue(1)
    assert run_fast_worker("--drain", "--until-empty").wait() == 0
    assert row(later).state == State.SUCCESSFUL


def test_an_operator_quiets_a_worker_and_asks_what_it_does(run_fast_worker, ledger):
    running = tasks.wait_for_go.enqueue(ledger.path)
    worker = run_fast_worker()
    ledger.wait_for("start")
    worker.signal(signal.SIGUSR2)
    worker.wait_for(f"running: wait_for_go #{running.id} for ")
    worker.signal(signal.SIGUSR1)
    worker.wait_for("takes no more tasks; 1 still run")
    waiting = tasks.add.enqueue(1)
    ledger.say("go")
    wait_until(lambda: row(running).state == State.SUCCESSFUL, worker)
    worker.signal()
    assert worker.wait() == 0
    assert row(waiting).state == State.READY


def test_lines_of_json_can_be_read_by_a_machine(run_fast_worker):
    done = tasks.add.enqueue(1)
    worker = run_fast_worker("--drain", "--log-format", "json")
    assert worker.wait() == 0
    events = [json.loads(line) for line in worker.lines if line.startswith("{")]
    assert [event["id"] for event in events if event.get("event") == "task.done"] == [int(done.id)]
    assert events[-1]["event"] == "worker.stopped"


def test_a_wrong_option_is_told_in_one_sentence(start_process):
    process = start_process("runqueue", "--no-reload", "--threads", "0")
    assert process.wait() == 1
    assert process.output.count("--threads must be") == 1
    assert "Traceback" not in process.output


def test_an_option_that_there_is_not_is_2(start_process):
    assert start_process("runqueue", "--slots", "4").wait() == 2


def test_at_the_highest_verbosity_arguments_are_shown_and_secrets_masked(run_fast_worker):
    tasks.echo.enqueue({"password": "hunter2", "color": "red"})
    worker = run_fast_worker("--drain", "-v", "3")
    assert worker.wait() == 0
    [start] = [line for line in worker.lines if " start  echo #" in line]
    assert '"color": "red"' in start
    assert "hunter2" not in worker.output
    assert re.search(r"DEBUG sql    [\d.]+s  UPDATE locqueue_worker\n", worker.output)


def test_a_worker_that_is_not_on_a_terminal_starts_with_one_line(run_fast_worker):
    worker = run_fast_worker("--drain", "--threads", "3", "--queue", "mail, default")
    assert worker.wait() == 0
    started = [line for line in worker.lines if line.startswith("started ")]
    assert started == [f"started worker=test-1 queues=mail,default slots=3 database=default version={__version__}"]


def test_a_queue_that_was_never_used_is_told(run_fast_worker):
    worker = run_fast_worker("--drain", "--queue", "mial")
    assert worker.wait() == 0
    assert "Queue “mial” has no tasks yet." in worker.output


def run_on_a_terminal(*options):
    """Return what a worker writes to a terminal, and its exit code."""
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "django", "runqueue", "--no-reload", "--drain", "--worker-id", "web:1", *options],
        env=environment({"DJANGO_SETTINGS_MODULE": "tests.settings_fast", "TERM": "dumb"}),
        cwd=Path(__file__).parent.parent.parent,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    parts = []
    try:
        while part := os.read(ours, 65536):
            parts.append(part)
    except OSError:
        pass  # Linux says so when the other side has closed it
    finally:
        os.close(ours)
    code = process.wait(30)
    return b"".join(parts).decode().replace("\r\n", "\n"), code


def test_a_range_of_threads_stands_in_the_banner():
    text, code = run_on_a_terminal("--no-color", "--threads", "2-16")
    assert code == 0
    assert "  slots       2-16 threads" in text.splitlines()


def test_the_banner_on_a_terminal_says_what_runs_where_and_how_to_stop_it():
    tasks.add.enqueue(1)
    text, code = run_on_a_terminal("--no-color", "--threads", "3", "--exclude-queue", "slow")
    lines = text.splitlines()
    assert code == 0
    assert lines[0].startswith(f"django-locqueue {__version__} · Django ")
    assert "  worker      web:1" in lines
    assert "  queues      all, except slow" in lines
    assert "  slots       3 threads" in lines
    assert "  waiting     1 ready, 0 scheduled" in lines
    assert any(line.startswith("  database    default (") for line in lines)
    assert any(line.startswith("  stop        ") for line in lines)
    assert "Ready." in lines


def test_a_quiet_worker_on_a_terminal_has_no_banner():
    text, code = run_on_a_terminal("-v", "0")
    assert (text, code) == ("", 0)


def test_each_finished_task_is_a_line(run_fast_worker):
    done, failed, retried = (
        tasks.add.enqueue(1),
        tasks.fail.enqueue("the reason"),
        retried_tasks.fail_and_wait_30.enqueue(),
    )
    worker = run_fast_worker("--drain")
    assert worker.wait() == 0
    for sentence in (
        rf"INFO  done   add #{done.id} +default +TIME  waited TIME",
        rf"ERROR failed fail #{failed.id} +default +TIME  attempt 1/1  ValueError: the reason"
        r"  at tests/tasks.py:\d+ fail",
        rf"WARN  retry  fail_and_wait_30 #{retried.id} +default +TIME  attempt 1/2, again in 30s  OSError: try again",
        r"INFO  bye    ran TIME: 1 done, 1 retried, 1 failed, 0 put back",
    ):
        pattern = r"\d\d:\d\d:\d\d " + sentence.replace("TIME", r"[\d.]+s")
        assert any(re.fullmatch(pattern, line) for line in worker.lines), sentence


@pytest.mark.parametrize(
    ("verbosity", "shown", "hidden"),
    [
        ("0", ["failed fail"], ["done ", "bye ", "Traceback", "started "]),
        ("1", ["failed fail", "done ", "bye ", "started "], ["Traceback"]),
        ("2", ["failed fail", "done ", "bye ", "started ", "Traceback"], []),
    ],
)
def test_verbosity_chooses_what_is_written(run_fast_worker, verbosity, shown, hidden):
    tasks.add.enqueue(1)
    tasks.fail.enqueue()
    worker = run_fast_worker("--drain", "-v", verbosity)
    assert worker.wait() == 0
    assert [text for text in shown if text not in worker.output] == []
    assert [text for text in hidden if text in worker.output] == []


EDITED = """
from django_locqueue import task
from tests.tasks import wait_for_go, write_ledger

@task
def edited(ledger):
    write_ledger(ledger, "{version} begins")
    wait_for_go.func(ledger)
    write_ledger(ledger, "{version} ends")
"""


def test_f9_an_edited_module_restarts_the_worker_after_the_running_task(run_fast_worker, ledger, tmp_path):
    module = tmp_path / "edited_tasks.py"
    module.write_text(EDITED.format(version="old"))
    first = enqueue_as("edited_tasks.edited", tasks.note, ledger.path)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    worker = run_fast_worker("--reload", "--worker-id", "reloading", env={"PYTHONPATH": path})
    ledger.wait_for("old begins")
    module.write_text(EDITED.format(version="new"))

    moments = itertools.count(int(time.time()) + 60, 60)

    def stops():
        # The reloader looks once a second, and what it sees for the first time is no change. Each edit gets a later
        # second: by that it knows a change, and Python that its compiled file is old.
        moment = next(moments)
        os.utime(module, (moment, moment))
        return "finishing 1 task" in worker.output

    wait_until(stops, worker)
    assert ledger.lines == ["old begins", "start"]
    ledger.say("go")
    wait_until(lambda: Worker.objects.filter(name="reloading").count() == 2, worker)
    second = enqueue_as("edited_tasks.edited", tasks.note, ledger.path)
    wait_until(lambda: row(second).state == State.SUCCESSFUL, worker)
    assert ledger.lines == ["old begins", "start", "go", "end", "old ends", "new begins", "start", "end", "new ends"]
    assert (row(first).state, row(first).crashes) == (State.SUCCESSFUL, 0)
    assert Worker.objects.filter(stopped_at=None).count() == 1
    worker.signal(signal.SIGTERM)
    assert worker.wait(15) == 0
    assert not Worker.objects.filter(stopped_at=None).exists()


def test_a_signal_to_the_whole_group_is_heard_once_by_a_reloading_worker(run_fast_worker, ledger):
    result = tasks.wait_for_go.enqueue(ledger.path)
    worker = run_fast_worker("--reload", "--worker-id", "reloading")
    ledger.wait_for("start")
    os.killpg(worker.pid, signal.SIGTERM)
    worker.wait_for("finishing 1 task")
    ledger.say("go")
    assert worker.wait(20) == 0
    assert row(result).state == State.SUCCESSFUL


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_second_signal_ends_a_reloading_worker_at_once(run_fast_worker, ledger, number, code):
    result = tasks.note_and_sleep.enqueue(ledger.path, 60)
    worker = run_fast_worker("--reload", "--worker-id", "reloading")
    ledger.wait_for("start")
    worker.signal(number)
    worker.wait_for("finishing 1 task")
    worker.signal(number)
    assert worker.wait(20) == code
    assert (row(result).state, row(result).attempt) == (State.READY, 0)
