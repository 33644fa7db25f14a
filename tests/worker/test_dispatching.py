"""How many tasks are claimed, how often, and by whom they are run."""

import math
import time

import pytest
from django.db import OperationalError

from django_locqueue import conf
from django_locqueue.policies.outcome import Kind
from django_locqueue.store.serve import Owner
from django_locqueue.worker import dispatcher as dispatcher_module
from django_locqueue.worker import growth
from django_locqueue.worker.claimer import MOST_HEARD
from django_locqueue.worker.execution import StopReason
from tests.worker.fakes import claimed
from tests.worker.stage import Stage, on_stage


@pytest.fixture
def stage(settings):
    settings.LOCQUEUE = {"WORKER": {"POLL_SECONDS": (0.1, 2)}}
    with on_stage(size=2) as stage:
        yield stage


def test_as_many_tasks_are_claimed_as_slots_are_free(stage):
    stage.store.ready = [claimed(1), claimed(2), claimed(3)]
    stage.dispatcher.run_once()
    assert stage.store.wanted == [2]
    assert stage.pool.busy == 2


def test_nothing_is_claimed_while_every_slot_is_busy(stage):
    stage.store.ready = [claimed(1), claimed(2), claimed(3)]
    stage.dispatcher.run_once()
    stage.dispatcher.run_once()
    assert stage.store.wanted == [2]


def test_nothing_is_claimed_while_the_lease_is_in_doubt(stage):
    stage.store.ready = [claimed(1)]
    stage.owner = None
    stage.dispatcher.run_once()
    assert stage.store.wanted == []


def test_the_wait_grows_while_nothing_is_found_and_not_past_the_most(stage):
    waits = [stage.dispatcher.run_once() for _ in range(12)]
    assert waits == sorted(waits)
    assert 0.1 < waits[0] < waits[1]
    assert waits[-1] == 2


def test_the_wait_is_least_again_after_a_find(stage):
    for _ in range(5):
        stage.dispatcher.run_once()
    stage.store.ready = [claimed(1)]
    assert stage.dispatcher.run_once() == 0.1


def test_queues_are_remembered_once(stage):
    stage.store.ready = [claimed(1)]
    stage.dispatcher.run_once()
    stage.store.ready = [claimed(2)]
    stage.dispatcher.run_once()
    assert stage.store.writes == [["default"]]


def test_a_claim_whose_answer_was_lost_is_given_back(stage):
    stage.store.failing = 1
    with pytest.raises(OperationalError):
        stage.dispatcher.run_once()
    stage.owner = None  # the outage has lasted until the lease was in doubt
    stage.dispatcher.run_once()
    stage.owner = Owner(1, "w:1")
    stage.store.running = [claimed(7)]
    stage.dispatcher.run_once()
    assert stage.store.released == [claimed(7)]
    stage.dispatcher.run_once()
    assert stage.store.released == [claimed(7)]


def test_a_claim_that_the_server_made_after_its_connection_was_cut_is_given_back_within_a_lease(stage, monkeypatch):
    stage.dispatcher.run_once()
    stage.store.running = [claimed(7)]
    stage.dispatcher.run_once()
    assert stage.store.released == []
    lease = conf.worker.LEASE_SECONDS
    now = time.monotonic()
    monkeypatch.setattr(dispatcher_module.time, "monotonic", lambda: now + lease)
    stage.dispatcher.run_once()
    assert stage.store.released == [claimed(7)]


def test_what_runs_is_not_given_back_after_a_failed_claim(stage):
    stage.store.ready = [claimed(1)]
    stage.dispatcher.run_once()
    stage.store.failing = 1
    with pytest.raises(OperationalError):
        stage.dispatcher.run_once()
    stage.store.running = [claimed(1)]
    stage.dispatcher.run_once()
    assert stage.store.released == []


def test_what_waited_too_long_for_a_thread_is_given_back_unrun(stage):
    for id in range(1, 6):
        stage.pool.submit([claimed(id)])
    stage.dispatcher.give_back_unstarted()
    stage.executor.gate.set()
    assert stage.pool.wait_idle(10)
    given_back = {execution.claimed.id for execution in stage.given_back}
    ran = {execution.claimed.id for execution in stage.executor.ran}
    assert {execution.outcome.kind for execution in stage.given_back} == {Kind.RELEASED}
    assert given_back | ran == {1, 2, 3, 4, 5}
    assert not given_back & ran


def test_a_task_that_was_given_back_and_claimed_again_runs_once_with_the_new_claim(stage):
    for id in (1, 2):
        stage.pool.submit([claimed(id)])
    stage.pool.submit([claimed(3, claim_no=1)])
    stage.dispatcher.give_back_unstarted()
    stage.pool.submit([claimed(3, claim_no=2)])
    stage.executor.gate.set()
    assert stage.pool.wait_idle(10)
    assert [e.claimed.claim_no for e in stage.executor.ran if e.claimed.id == 3] == [2]


def test_an_ended_task_is_busy_until_its_outcome_is_handed_on(stage):
    busy = []
    stage.pool.on_end = lambda execution: busy.append(stage.pool.busy)
    stage.pool.submit([claimed(1)])
    stage.executor.gate.set()
    assert stage.pool.wait_idle(10)
    assert busy == [1]


def test_tasks_can_be_asked_to_stop_one_by_one(stage):
    stage.pool.submit([claimed(1)])
    stage.pool.submit([claimed(2)])
    stage.pool.ask_to_stop(StopReason.CANCELLED, {2})
    stage.pool.ask_to_stop(StopReason.SHUTDOWN)
    reasons = {execution.claimed.id: execution.stop_reason for execution in stage.pool.executions}
    assert reasons == {1: StopReason.SHUTDOWN, 2: StopReason.CANCELLED}


def test_a_busy_pool_is_not_idle(stage):
    stage.pool.submit([claimed(1)])
    assert stage.pool.wait_idle(0) is False


def test_a_fault_outside_any_task_does_not_end_the_thread(caplog):
    def broken():
        raise SystemExit(1)

    stage = Stage(size=1)
    stage.pool.on_free = broken
    stage.pool.submit([claimed(1)])
    stage.pool.submit([claimed(2)])
    stage.executor.gate.set()
    assert stage.pool.wait_idle(10)
    assert stage.pool.dead_threads == 0
    stage.pool.stop(10)
    assert "A fault outside any task" in caplog.text


def test_a_task_that_comes_back_while_its_first_run_goes_on_is_another_execution(stage):
    first, second = claimed(1), claimed(1)._replace(claim_no=claimed(1).claim_no + 1)
    stage.pool.submit([first])
    stage.pool.submit([second])
    assert stage.pool.busy == 2
    stage.executor.gate.set()
    assert stage.pool.wait_idle(10)
    assert sorted(execution.key for execution in stage.ended) == sorted([first[:2], second[:2]])


@pytest.fixture
def growing(settings, monkeypatch):
    """A stage of one thread that may become three, at once when they are short twice in a row."""
    monkeypatch.setattr(growth, "GROW_SECONDS", 0)
    settings.LOCQUEUE = {"WORKER": {"POLL_SECONDS": (0.1, 2)}}
    with on_stage(size=1, most=3) as stage:
        yield stage


def test_threads_are_added_one_by_one_while_all_are_busy_and_more_is_ready(growing):
    growing.store.ready = [claimed(number) for number in range(1, 4)]
    for _ in range(20):
        growing.dispatcher.run_once()
    assert growing.store.wanted == [1, 1, 1]


def test_threads_do_not_grow_past_the_most(growing):
    growing.store.ready = [claimed(number) for number in range(1, 10)]
    for _ in range(20):
        growing.dispatcher.run_once()
    assert growing.pool.size == growing.pool.busy == 3


def test_no_thread_is_added_for_tasks_that_are_over_sooner(growing):
    growing.store.ready = [claimed(number) for number in range(1, 10)]
    growing.dispatcher._measured = (math.inf, 0)  # the pace stays as it is
    growing.dispatcher._ahead, growing.dispatcher._measured = 3, (math.inf, 0)  # so many end in 50 ms
    for _ in range(20):
        growing.dispatcher.run_once()
    assert growing.pool.size == 1


def test_no_thread_is_added_when_nothing_more_is_ready(growing):
    growing.dispatcher.run_once()
    growing.store.ready = [claimed(1)]
    growing.dispatcher.run_once()
    growing.dispatcher.found_nothing = True  # a claim for the next slot came back empty
    for _ in range(20):
        growing.dispatcher.run_once()
    assert growing.pool.size == 1


def test_a_queue_that_was_heard_of_is_claimed_from_without_a_look_at_the_others(stage):
    stage.dispatcher.run_once()
    looked = len(stage.store.wanted)
    stage.store.ready = [claimed(1, queue_name="mail")]
    stage.dispatcher.hear("mail")
    stage.dispatcher.run_once()
    assert stage.store.claimed_from == ["mail"]
    assert len(stage.store.wanted) == looked + 1
    assert stage.pool.busy == 1


def test_what_was_heard_counts_for_one_pass(stage):
    stage.dispatcher.run_once()
    stage.dispatcher.hear("mail")
    stage.dispatcher.run_once()
    stage.dispatcher.run_once()
    assert stage.store.claimed_from == ["mail"]


def test_others_are_looked_at_although_one_queue_is_heard_of_again_and_again(stage):
    stage.dispatcher.run_once()
    for _ in range(2 * MOST_HEARD + 2):
        stage.dispatcher.hear("mail")
        stage.dispatcher.run_once()
    assert stage.store.claimed_from == ["mail"] * 2 * MOST_HEARD
    assert len(stage.store.wanted) == 1 + 2 * MOST_HEARD + 2


def test_what_was_heard_does_not_go_before_what_is_already_waiting(stage):
    stage.store.ready = [claimed(1), claimed(2), claimed(3)]
    stage.dispatcher.run_once()
    stage.executor.gate.set()
    assert stage.pool.wait_idle(10)
    stage.dispatcher.hear("mail")
    stage.dispatcher.run_once()
    assert "mail" not in stage.store.claimed_from


def test_what_ends_while_the_database_is_asked_for_lost_answers_is_not_taken_for_lost(stage, monkeypatch):
    stage.store.ready = [claimed(1), claimed(2)]
    stage.dispatcher.run_once()

    def held(worker_id):
        stage.executor.gate.set()  # both end, and are written, before the answer is there
        assert stage.pool.wait_idle(10)
        return [claimed(1), claimed(2), claimed(3)]

    monkeypatch.setattr(stage.store, "held", held)
    stage.dispatcher._reconcile(stage.owner)
    assert [task.id for task in stage.store.released] == [3]


def test_what_waits_to_be_written_is_not_taken_for_lost(stage):
    stage.dispatcher.ending = lambda: {(1, 1)}
    stage.store.running = [claimed(1), claimed(2)]
    stage.dispatcher._reconcile(stage.owner)
    assert [task.id for task in stage.store.released] == [2]
