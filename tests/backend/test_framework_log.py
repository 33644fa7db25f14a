"""What the task framework's own log says of tasks that were meant to end."""

import logging

import pytest

from django_locqueue import compat
from django_locqueue.endings import send_finished
from django_locqueue.exceptions import Cancel, Expired, StepSkipped, StopTask, WorkerLost
from tests import tasks
from tests.running import run_one

pytestmark = pytest.mark.django_db


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger=compat.LOGGER_NAME)
    return caplog


def lines(log):
    return [
        (record.levelname, record.getMessage(), record.exc_info) for record in log.records if "state=" in record.msg
    ]


def test_a_cancelled_task_is_no_error(log, django_capture_on_commit_callbacks):
    result = tasks.add.enqueue(1)
    with django_capture_on_commit_callbacks(execute=True):
        result.cancel("by hand")
    assert lines(log) == [("INFO", f"Task id={result.id} path=tests.tasks.add state=CANCELLED", None)]


@pytest.mark.parametrize("error", [Cancel("x"), Expired("x"), StepSkipped("x"), StopTask("x")])
def test_nor_is_one_that_was_stopped_or_came_too_late(log, error):
    send_finished(None, tasks.add.enqueue(1), error)
    assert [(level, trace) for level, _, trace in lines(log)] == [("INFO", None)]


@pytest.mark.django_db(transaction=True)
def test_one_that_failed_is_an_error_as_before(log):
    result = run_one(tasks.fail.enqueue())
    [(level, text, trace)] = [line for line in lines(log) if line[0] == "ERROR"]
    assert (level, text) == ("ERROR", f"Task id={result.id} path=tests.tasks.fail state=FAILED")
    assert trace is not None


def test_nothing_is_said_of_a_cancel_where_nobody_asked_for_so_much(caplog, django_capture_on_commit_callbacks):
    caplog.set_level(logging.WARNING, logger=compat.LOGGER_NAME)
    result = tasks.add.enqueue(1)
    with django_capture_on_commit_callbacks(execute=True):
        result.cancel()
    assert lines(caplog) == []


def test_a_task_whose_worker_died_is_an_error(log):
    result = tasks.add.enqueue(1)
    object.__setattr__(result, "status", compat.TaskResultStatus.FAILED)
    send_finished(None, result, WorkerLost("x"))
    assert lines(log)[0][0] == "ERROR"
