"""What a task says of itself is stored while it runs, once a second at most, and the last word with its outcome."""

import pytest
from asgiref.sync import async_to_sync
from django.db import OperationalError

from django_locqueue import compat
from django_locqueue.models import State
from django_locqueue.result import Progress
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.reporter import TRIES, Reporter
from tests import reporting_tasks, tasks
from tests.processes import wait_until
from tests.running import claim_next, in_thread, our_backend, row, run_next, run_one

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def fast(settings):
    settings.LOCQUEUE = {**settings.LOCQUEUE, "WORKER": {"POLL_SECONDS": (0.01, 0.05)}}
    reporting_tasks.gate.clear()
    reporting_tasks.said.clear()
    yield
    reporting_tasks.gate.set()


def test_progress_is_seen_while_the_task_runs_and_the_last_word_in_the_end(serving):
    result = reporting_tasks.report_and_wait.enqueue()
    worker = serving(threads=1)
    assert reporting_tasks.said.wait(10)
    worker.maintenance.wake()
    wait_until(lambda: row(result).progress == 0.25)
    result.refresh()
    assert (result.status, result.progress) == (compat.TaskResultStatus.RUNNING, Progress(0.25, "page 1 of 4"))
    reporting_tasks.gate.set()
    wait_until(lambda: row(result).is_finished)
    result.refresh()
    assert result.progress == Progress(1.0, "page 4 of 4")


def test_an_awaited_refresh_has_the_progress_too():
    result = reporting_tasks.report_often.enqueue(4)
    run_next()
    async_to_sync(result.arefresh)()
    assert result.progress == Progress(0.75, "3 of 4")


@pytest.mark.parametrize("name", ["report_atomically", "report_async"])
def test_the_last_word_comes_with_the_outcome(name):
    result = run_one(getattr(reporting_tasks, name).enqueue())
    assert row(result).state == State.SUCCESSFUL
    assert result.progress in (Progress(0.5, "half"), Progress(None, "nobody knows how far"))


def test_a_task_that_said_nothing_has_no_progress():
    assert run_one(tasks.add.enqueue(1)).progress is None


def test_the_next_try_finds_the_metadata_of_the_one_before():
    result = reporting_tasks.go_on_where_it_was.using(metadata={"tenant": "acme"}).enqueue()
    run_next(3)
    assert row(result).return_value == [1, 2, 3]
    assert row(result).metadata == {"tenant": "acme", "done": [1, 2, 3]}


@pytest.mark.parametrize("fraction", [1.5, -0.1, "half", True, 40])
def test_what_is_no_fraction_is_refused_with_what_to_do(fraction):
    result = run_one(reporting_tasks.report_nonsense.enqueue(fraction))
    assert "takes a fraction from 0 to 1" in result.errors[0].traceback


def test_metadata_that_json_cannot_hold_is_refused():
    result = run_one(reporting_tasks.save_nonsense.enqueue())
    assert result.errors[0].exception_class_path == "builtins.TypeError"


# -- the reporter


def running(definition=reporting_tasks.report_often, *args):
    definition.enqueue(*args)
    return Execution(in_thread(claim_next))


class CountingStore:
    """Counts what is stored, and fails as often as it is told."""

    def __init__(self, failures=0):
        self.saved = []
        self.failures = failures

    def save_reports(self, reports):
        self.saved.append(reports)
        if len(self.saved) <= self.failures:
            raise OperationalError("the database is away")


def test_a_thousand_words_within_a_second_are_one_write():
    store = CountingStore()
    reporter = Reporter(store)
    executions = [running(reporting_tasks.report_often, 500), running(reporting_tasks.report_often, 500)]
    executor = Executor(our_backend(), reported=reporter.put)

    def run():
        for execution in executions:
            executor.run(execution)
            execution.outcome = None  # as if it still ran
            reporter.save()
        reporter.save()

    in_thread(run)
    assert [len(reports) for reports in store.saved] == [1]
    reporter._save_at = 0.0
    reporter.save()
    assert [len(reports) for reports in store.saved] == [1, 1]


def test_what_could_not_be_stored_is_tried_again_and_then_left():
    store = CountingStore(failures=TRIES)
    reporter = Reporter(store)
    execution = running(reporting_tasks.report_often, 1)
    in_thread(lambda: Executor(our_backend(), reported=reporter.put).run(execution))
    execution.outcome = None
    for _ in range(TRIES):
        reporter._save_at = 0.0
        with pytest.raises(OperationalError):
            reporter.save()
    reporter._save_at = 0.0
    reporter.save()
    assert len(store.saved) == TRIES


def test_a_task_that_says_nothing_costs_no_statement(django_assert_num_queries):
    reporter = Reporter(our_backend().store)
    with django_assert_num_queries(0):
        reporter.save()


def test_what_has_ended_is_not_written_again():
    store = CountingStore()
    reporter = Reporter(store)
    execution = running(reporting_tasks.report_often, 3)

    in_thread(lambda: Executor(our_backend(), reported=reporter.put).run(execution))
    reporter.save()
    assert store.saved == []
