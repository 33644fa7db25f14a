"""What a task logs is kept with it: the last lines, of its own run alone, whatever they are."""

import logging

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from django_locqueue.models import State, Task
from django_locqueue.testing import run_tasks
from django_locqueue.worker.log_keeper import LogKeeper, kept
from tests import logging_tasks, tasks
from tests.processes import wait_until
from tests.running import row

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def heard(settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"POLL_SECONDS": (0.01, 0.05)}}
    logging_tasks.logger.setLevel(logging.INFO)
    logging_tasks.gate.clear()
    yield
    logging_tasks.gate.set()
    logging_tasks.logger.setLevel(logging.NOTSET)


def messages(result):
    return [line["message"] for line in row(result).log or []]


def ran(definition, *args):
    result = definition.enqueue(*args)
    run_tasks()
    return result


def test_a_line_has_its_time_level_logger_attempt_and_message():
    (line,) = row(ran(logging_tasks.write, "sent")).log
    assert line.pop("time")[10:11] == "T"
    assert line == {"claim": 1, "attempt": 1, "level": "INFO", "logger": "shop.tasks", "message": "sent"}


def test_the_last_lines_are_kept(settings):
    settings.LOCQUEUE["WORKER"]["LOG_LINES"] = 2
    assert messages(ran(logging_tasks.write, "1", "2", "3")) == ["2", "3"]


def test_with_no_lines_wanted_none_are_kept(settings):
    settings.LOCQUEUE["WORKER"]["LOG_LINES"] = 0
    assert row(ran(logging_tasks.write, "1")).log is None


def test_lines_of_the_attempt_before_stay():
    result = logging_tasks.write_and_fail.enqueue()
    run_tasks(delayed=True)
    log = row(result).log
    assert [(line["attempt"], line["message"]) for line in log] == [(1, "try 1"), (2, "try 2")]


def test_all_attempts_together_have_one_bound(settings):
    settings.LOCQUEUE["WORKER"]["LOG_LINES"] = 1
    result = logging_tasks.write_and_fail.enqueue()
    run_tasks(delayed=True)
    assert messages(result) == ["try 2"]


def test_an_atomic_task_keeps_its_lines():
    assert messages(ran(logging_tasks.write_atomically)) == ["within"]


def test_what_was_caught_is_named():
    assert messages(ran(logging_tasks.write_what_it_caught)) == ["Asked in vain. (builtins.OSError: away)"]


def test_a_line_that_cannot_be_had_fails_no_task(monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # pytest's own would raise it
    result = ran(logging_tasks.write_badly)
    assert row(result).state == State.SUCCESSFUL
    assert messages(result) == ["%d of %d", "a\\x00\\ud835b " + "x" * 486 + "…"]


def test_a_chunks_lines_are_nobodys():
    results = [logging_tasks.write_in_a_chunk.enqueue(number) for number in range(2)]
    run_tasks()
    assert [row(result).log for result in results] == [None, None]


def test_a_task_that_logs_nothing_costs_no_statement_more(settings):
    counts = []
    for lines in (0, 50):
        settings.LOCQUEUE["WORKER"]["LOG_LINES"] = lines
        tasks.add.enqueue(1)
        with CaptureQueriesContext(connection) as queries:
            run_tasks()
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert not any("log" in query["sql"].lower().split("set", 1)[-1] for query in queries if "UPDATE" in query["sql"])


def test_a_worker_shows_the_lines_while_the_task_runs(serving):
    result = logging_tasks.write_and_wait.enqueue()
    worker = serving(threads=1)

    def is_shown():
        worker.maintenance.wake()
        return messages(result) == ["half of it"]

    wait_until(is_shown)
    assert row(result).state == State.RUNNING
    logging_tasks.gate.set()


def test_tasks_that_run_at_once_on_a_loop_do_not_mix(serving):
    results = {name: logging_tasks.write_async.enqueue(name) for name in "abc"}
    serving(threads=2)
    wait_until(lambda: Task.objects.filter(state=State.SUCCESSFUL).count() == 3)
    assert {name: messages(result) for name, result in results.items()} == {
        name: [f"loop {name}", f"thread {name}"] for name in "abc"
    }


def test_what_no_handler_takes_still_comes_to_stderr(monkeypatch):
    taken = []
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    last = logging.Handler(logging.WARNING)
    last.emit = taken.append
    monkeypatch.setattr(logging, "lastResort", last)
    with kept():
        logging_tasks.logger.warning("nobody listens")
        logging_tasks.logger.addHandler(logging.NullHandler())
        logging_tasks.logger.warning("somebody does")
    logging_tasks.logger.handlers.clear()
    assert [record.getMessage() for record in taken] == ["nobody listens"]


def test_the_handler_goes_with_the_worker():
    with kept(), kept():
        assert sum(isinstance(each, LogKeeper) for each in logging.getLogger().handlers) == 1
    assert not any(isinstance(each, LogKeeper) for each in logging.getLogger().handlers)
