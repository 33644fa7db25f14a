"""What running tasks say of themselves: one statement for many, fenced like every outcome."""

from typing import Any

import pytest

from django_locqueue.models import Task
from django_locqueue.policies.outcome import Kind
from django_locqueue.policies.report import Report, with_progress
from django_locqueue.policies.task_log import Line
from django_locqueue.store import Store
from django_locqueue.store.serve import Owner
from tests.store.rows import changed, outcome, row, running, state

SAID = Report(0.5, "half", '{"page":4}', (Line(1, 0.0, "INFO", "shop", "said"),))
TIME = "1970-01-01T00:00:00.000+00:00"
LINE = {"claim": 1, "attempt": 1, "time": TIME, "level": "INFO", "logger": "shop", "message": "said"}


def test_what_a_running_task_said_is_in_its_row(store: Store, owner: Owner):
    task = running(store, owner)
    before = row(task.id)
    store.save_reports([(task.key, SAID)])
    assert changed(before, row(task.id)) == {
        "progress": 0.5,
        "progress_message": "half",
        "metadata": {"page": 4},
        "log": [LINE],
    }


@pytest.mark.parametrize(
    ("report", "left"),
    [
        (Report(fraction=0.75), {"progress": 0.75}),
        (Report(message="three"), {"progress_message": "three"}),
        (Report(message=""), {"progress_message": ""}),
        (Report(metadata="[]"), {"metadata": []}),
        (Report(), {}),
    ],
)
def test_what_it_did_not_say_stays(store: Store, owner: Owner, report: Report, left: dict[str, Any]):
    task = running(store, owner)
    store.save_reports([(task.key, SAID)])
    before = row(task.id)
    store.save_reports([(task.key, report)])
    assert changed(before, row(task.id)) == left


def test_many_tasks_are_one_statement(store: Store, owner: Owner, django_assert_num_queries: Any):
    tasks = [running(store, owner) for _ in range(50)]
    with django_assert_num_queries(1):
        store.save_reports([(task.key, Report(number / 100, str(number))) for number, task in enumerate(tasks)])
    found = [row(task.id) for task in tasks]
    assert [(each["progress"], each["progress_message"]) for each in found] == [(n / 100, str(n)) for n in range(50)]


def test_more_than_one_statement_holds_are_stored_all_the_same(store: Store, owner: Owner):
    tasks = [running(store, owner) for _ in range(201)]
    store.save_reports([(task.key, Report(0.5)) for task in tasks])
    assert Task.objects.filter(progress=0.5).count() == 201


@pytest.mark.parametrize("end", [Kind.SUCCESSFUL, Kind.FAILED, Kind.RETRIED, Kind.RELEASED, Kind.CANCELLED])
def test_a_task_that_has_ended_is_not_changed_any_more(store: Store, owner: Owner, end: Kind):
    task, other = running(store, owner), running(store, owner)
    store.ack([(task, outcome(end))])
    before = row(task.id)
    store.save_reports([(task.key, SAID), (other.key, SAID)])
    assert changed(before, row(task.id)) == {}
    assert row(other.id)["progress"] == 0.5


def test_another_claim_of_the_same_task_is_not_changed(store: Store, owner: Owner):
    task = running(store, owner)
    store.save_reports([((task.id, task.claim_no - 1), SAID)])
    assert row(task.id)["progress"] is None


@pytest.mark.parametrize("end", list(Kind))
def test_the_last_word_is_stored_with_the_outcome(store: Store, owner: Owner, end: Kind):
    task = running(store, owner, max_attempts=5)
    store.ack([(task, outcome(end, report=SAID))])
    assert state(task.id) != "running"
    assert (row(task.id)["progress"], row(task.id)["metadata"]) == (0.5, {"page": 4})


def test_the_last_word_of_a_lost_task_is_refused_with_its_outcome(store: Store, owner: Owner):
    task = running(store, owner)
    late = task._replace(claim_no=task.claim_no - 1)
    assert store.ack([(late, outcome(Kind.SUCCESSFUL, report=SAID))]) == {}
    assert row(task.id)["progress"] is None


def test_a_batch_whose_tasks_said_nothing_has_no_statement_more(
    store: Store, owner: Owner, django_assert_max_num_queries: Any
):
    tasks = [running(store, owner) for _ in range(3)]
    with django_assert_max_num_queries(4) as queries:
        store.ack([(task, outcome(Kind.SUCCESSFUL)) for task in tasks])
    assert not any("progress" in query["sql"] for query in queries.captured_queries)


@pytest.mark.parametrize("message", ["a\0b", "\ud835", "🙂" * 300], ids=ascii)
def test_any_words_can_be_said(store: Store, owner: Owner, message: str):
    task = running(store, owner)
    store.save_reports([(task.key, with_progress(None, 0.9, message))])
    assert row(task.id)["progress"] == 0.9


def test_a_requeue_begins_anew_and_keeps_the_metadata(store: Store, owner: Owner):
    task = running(store, owner)
    store.ack([(task, outcome(Kind.FAILED, report=SAID))])
    store.requeue([task.id])
    stored = row(task.id)
    assert (stored["progress"], stored["progress_message"], stored["metadata"]) == (None, "", {"page": 4})
