"""The lines of a worker, for people and for machines (UI.md 6.3)."""

import json
import logging

import pytest

from django_locqueue import Retry
from django_locqueue.observability.formats import formatter
from django_locqueue.observability.logs import WorkerLog
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from tests.worker.fakes import claimed


def line(name, outcome, caplog, **options):
    caplog.set_level("DEBUG", "django_locqueue")
    caplog.clear()
    WorkerLog("web-1:7").attempt_ended(claimed=claimed(7), outcome=outcome, seconds=0.5)
    [record] = caplog.records
    return formatter(name, **options).format(record)


DONE = Outcome(Kind.SUCCESSFUL)


def test_a_line_of_json_holds_what_is_known_of_the_attempt(caplog):
    found = json.loads(line("json", DONE, caplog))
    assert found.pop("ts").endswith("Z")
    assert found == {
        "level": "info",
        "event": "task.done",
        "task": "tests.tasks.add",
        "id": 7,
        "queue": "default",
        "attempt": 1,
        "max": 1,
        "wait_s": 0.0,
        "run_s": 0.5,
        "worker": "web-1:7",
    }


def test_a_line_of_logfmt_quotes_what_a_reader_could_take_for_several(caplog):
    error = ErrorReport.of(OSError("disk full"))
    found = line("logfmt", Outcome(Kind.RETRIED, error=error, delay=30.0), caplog)
    assert " level=warning event=task.retry task=tests.tasks.add id=7 " in found
    assert found.endswith(' again_s=30.0 error=builtins.OSError message="disk full" worker=web-1:7')


def test_what_is_no_event_of_ours_is_a_message():
    record = logging.LogRecord("django_locqueue.worker", logging.ERROR, "", 1, "The %s failed.", ("acker",), None)
    found = json.loads(formatter("json").format(record))
    assert (found["level"], found["logger"], found["message"]) == (
        "error",
        "django_locqueue.worker",
        "The acker failed.",
    )


@pytest.mark.parametrize("name", ["text", "json", "logfmt"])
def test_a_message_with_a_line_break_or_a_colour_is_one_plain_line(name, caplog):
    error = ErrorReport("x.Y", "a\x1b[31m\u202e\u2028b", "")
    found = line(name, Outcome(Kind.FAILED, error=error), caplog)
    assert len(found.splitlines()) == 1
    assert "\x1b" not in found


@pytest.mark.parametrize("name", ["text", "json", "logfmt"])
def test_a_secret_in_an_error_is_masked(name, caplog):
    error = ErrorReport.of(OSError("no connection to postgres://shop:hunter2@db/shop"))
    assert "hunter2" not in line(name, Outcome(Kind.FAILED, error=error), caplog)


def failed_line(caplog, verbosity):
    try:
        raise Retry(after=1)
    except Retry as error:
        failure = Outcome(Kind.FAILED, error=ErrorReport.of(error), exception=error)
    return line("text", failure, caplog, verbosity=verbosity)


def test_a_traceback_follows_a_failure_only_where_it_was_asked_for(caplog):
    assert "Traceback" not in failed_line(caplog, 1)
    assert "Traceback" in failed_line(caplog, 2)


def test_a_line_names_its_process_where_several_write(caplog):
    assert " INFO  web-1:7/2  done " in line("text", DONE, caplog, process="web-1:7/2")
