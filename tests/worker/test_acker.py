"""Outcomes are written in batches, at once when nothing else runs, and kept until they are stored."""

import pytest
from django.db import Error, InterfaceError, OperationalError

from django_locqueue.models import State
from django_locqueue.policies.outcome import Kind
from django_locqueue.service import IDLE_SECONDS
from django_locqueue.worker import acker as module
from django_locqueue.worker.acker import BATCH, TRIES, Acker
from tests.worker.fakes import FakeStore, ended


class Stage:
    def __init__(self):
        self.store = FakeStore()
        self.busy = 0
        self.stored = []
        self.acker = Acker(self.store, lambda: self.busy, self.on_stored)

    def on_stored(self, executions):
        self.stored += [(execution.claimed.id, execution.written is not None) for execution in executions]

    def fail(self, times):
        """Let passes fail, as the service's loop would count them."""
        for _ in range(times):
            with pytest.raises(Error):
                self.acker.run_once()
            self.acker.failures += 1

    def try_once(self):
        try:
            self.acker.run_once()
        except Error:
            self.acker.failures += 1


@pytest.fixture
def stage():
    return Stage()


def test_nothing_to_write_needs_no_statement(stage):
    assert stage.acker.run_once() == IDLE_SECONDS
    assert stage.store.writes == []


def test_two_that_end_at_the_same_moment_leave_it_not_asleep(stage, monkeypatch):
    stage.busy = 5
    woken = []
    monkeypatch.setattr(stage.acker, "wake", lambda: woken.append(1))

    class Both(type(stage.acker._ended)):
        def append(self, execution):
            super().append(execution)
            if len(self) == 1:
                stage.acker.put(ended(2))  # another slot, before this one has gone on

    stage.acker._ended = Both()
    stage.acker.run_once()
    stage.acker.put(ended(1))
    assert (stage.acker.pending, bool(woken)) == (2, True)


def test_many_outcomes_are_one_write(stage):
    for id in range(5):
        stage.acker.put(ended(id))
    stage.acker.run_once()
    assert stage.store.writes == [[0, 1, 2, 3, 4]]
    assert stage.stored == [(id, True) for id in range(5)]
    assert stage.acker.pending == 0


def test_an_outcome_waits_a_moment_for_others_while_tasks_run(stage, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_WAIT_SECONDS", 60)
    stage.busy = 3
    execution = ended(1)
    execution.ended = module.time.monotonic()
    stage.acker.put(execution)
    assert 0 < stage.acker.run_once() <= 60
    assert stage.store.writes == []


def test_an_outcome_that_has_waited_is_written_while_tasks_run(stage):
    stage.busy = 3
    stage.acker.put(ended(1))  # it ended at the beginning of time
    stage.acker.run_once()
    assert stage.store.writes == [[1]]


def test_a_full_batch_does_not_wait(stage, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_WAIT_SECONDS", 60)
    stage.busy = 3
    for id in range(BATCH):
        execution = ended(id)
        execution.ended = module.time.monotonic()
        stage.acker.put(execution)
    stage.acker.run_once()
    assert len(stage.store.writes) == 1


def test_nothing_waits_while_no_task_runs(stage, monkeypatch):
    monkeypatch.setattr(module, "LONGEST_WAIT_SECONDS", 60)
    execution = ended(1)
    execution.ended = module.time.monotonic()
    stage.acker.put(execution)
    stage.acker.run_once()
    assert stage.store.writes == [[1]]


def test_outcomes_are_kept_while_the_database_is_away_and_written_later(stage):
    stage.acker.put(ended(1))
    stage.store.failing = 2
    stage.fail(2)
    assert stage.acker.pending == 1
    stage.acker.put(ended(2))
    stage.acker.run_once()
    assert stage.store.writes == [[1, 2]]
    assert stage.acker.pending == 0


def test_a_refused_write_is_told_as_such(stage):
    stage.store.refused = {2}
    for id in (1, 2):
        stage.acker.put(ended(id))
    stage.acker.run_once()
    assert stage.stored == [(1, True), (2, False)]


def test_an_outcome_that_was_stored_though_its_answer_was_lost_is_accepted(stage):
    stage.acker.put(ended(1))
    stage.acker.put(ended(2))
    stage.store.failing = 1
    stage.fail(1)
    stage.store.refused = {1, 2}
    stage.store.confirmed = {1}
    stage.acker.run_once()
    assert stage.stored == [(1, True), (2, False)]


def test_a_refused_write_is_not_asked_about_when_no_answer_was_lost(stage):
    stage.store.refused = stage.store.confirmed = {1}
    stage.acker.put(ended(1))
    stage.acker.run_once()
    assert stage.stored == [(1, False)]


def test_what_was_recorded_by_the_run_itself_is_not_written_again(stage):
    execution = ended(1)
    execution.written = State.SUCCESSFUL
    stage.acker.put(execution)
    stage.acker.run_once()
    assert stage.store.writes == []
    assert stage.stored == [(1, True)]


def test_one_outcome_that_can_never_be_stored_does_not_hold_up_the_others(stage):
    poisoned = ended(2)
    stage.store.poison = {2}
    for execution in (ended(1), poisoned, ended(3)):
        stage.acker.put(execution)
    stage.fail(module.TRIES)
    stage.acker.run_once()
    assert stage.stored == [(1, True), (2, True), (3, True)]
    assert poisoned.outcome.kind is Kind.FAILED
    assert poisoned.outcome.error.class_path == "django_locqueue.exceptions.OutcomeRefused"


def test_a_database_that_is_away_for_long_turns_no_success_into_a_failure(stage):
    execution = ended(1)
    stage.acker.put(execution)
    stage.store.failing = 100
    stage.fail(10)
    stage.store.failing = 0
    stage.acker.run_once()
    assert execution.outcome.kind is Kind.SUCCESSFUL
    assert stage.stored == [(1, True)]


@pytest.mark.parametrize("failures", range(1, 12))
@pytest.mark.parametrize("error", [OperationalError("the database is away"), InterfaceError("connection is closed")])
def test_a_database_that_comes_back_at_any_moment_turns_no_success_into_a_failure(stage, failures, error):
    execution = ended(1)
    stage.acker.put(execution)
    stage.store.failing, stage.store.error = failures, error
    while stage.acker.pending:
        stage.try_once()
    assert execution.outcome.kind is Kind.SUCCESSFUL
    assert stage.store.writes == [[1]]


def test_a_database_that_answers_a_question_is_asked_twice_before_an_outcome_is_replaced(stage):
    execution = ended(1)
    stage.acker.put(execution)
    stage.acker.failures = module.TRIES
    stage.store.ack_failing = 1
    stage.acker.flush()
    assert execution.outcome.kind is Kind.SUCCESSFUL


@pytest.mark.parametrize("error", [OperationalError("database is locked"), InterfaceError("connection is closed")])
def test_what_is_no_refusal_never_replaces_an_outcome(stage, error):
    execution = ended(1)
    stage.acker.put(execution)
    stage.acker.failures = module.TRIES
    stage.store.ack_failing, stage.store.error = 10, error
    stage.fail(10)
    stage.acker.flush()
    assert execution.outcome.kind is Kind.SUCCESSFUL
    assert stage.stored == [(1, True)]


def test_two_claims_of_one_task_are_told_apart(stage):
    stale, live = ended(1), ended(1, claim_no=2)
    stage.store.refused_claims = {(1, 1)}
    stage.acker.put(stale)
    stage.acker.put(live)
    stage.acker.run_once()
    assert stage.stored == [(1, False), (1, True)]


@pytest.mark.parametrize("kind", [Kind.RELEASED, Kind.SNOOZED, Kind.RETRIED])
def test_what_the_store_cancelled_instead_of_putting_it_back_is_told_as_cancelled(stage, kind):
    execution = ended(1, kind)
    stage.store.cancelled = {1}
    stage.acker.put(execution)
    stage.acker.run_once()
    assert (execution.outcome.kind, execution.written) == (Kind.CANCELLED, State.CANCELLED)
    assert execution.outcome.error.class_path == "django_locqueue.exceptions.Cancel"


def test_each_outcome_is_told_once_when_the_database_goes_away_in_between(stage):
    for id in (1, 2):
        stage.acker.put(ended(id))
    stage.acker.failures = module.TRIES
    stage.store.poison = {2}
    stage.acker.flush()
    assert stage.stored == [(1, True), (2, True)]


def test_it_knows_whose_outcome_it_keeps(stage):
    stage.acker.put(ended(1))
    assert stage.acker.ending() == {(1, 1)}


def test_a_connection_that_comes_and_goes_makes_no_outcome_a_failure(stage):
    stage.acker.put(ended(1))
    stage.acker.failures = TRIES
    stage.store.ack_failing = 2  # both tries of a pass, while the database answers in between
    stage.fail(1)
    stage.try_once()
    assert stage.store.writes == [[1]]
    assert stage.acker.pending == 0
