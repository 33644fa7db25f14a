"""Tasks whose workers died while they ran them: perhaps the cause."""

import math

import pytest

from django_locqueue.policies.outcome import Kind
from django_locqueue.worker.dispatcher import SUSPECT_SECONDS, SUSPECT_SPACING_SECONDS
from tests.processes import wait_until
from tests.worker.fakes import claimed
from tests.worker.stage import on_stage, suspects


@pytest.fixture
def stage(settings):
    settings.LOCQUEUE = {"WORKER": {"POLL_SECONDS": (0.1, 2)}}
    with on_stage(size=2) as stage:
        yield stage


def test_tasks_whose_worker_died_run_one_at_a_time_and_the_rest_comes_back_one_by_one(stage):
    stage.store.ready = suspects(1, 2, 3)
    stage.dispatcher._ahead, stage.dispatcher._measured = 1, (math.inf, 0)  # as if just measured
    stage.dispatcher.run_once()
    assert [execution.claimed.id for execution in stage.pool.executions] == [1]
    assert [(late.claimed.id, late.outcome.kind, late.outcome.delay) for late in stage.given_back] == [
        (2, Kind.RELEASED, SUSPECT_SPACING_SECONDS),
        (3, Kind.RELEASED, 2 * SUSPECT_SPACING_SECONDS),
    ]


def test_a_suspect_begins_when_it_is_stored_that_others_went_back(stage):
    busy = []

    def ending():
        busy.append(stage.pool.busy)
        return {claimed(2).key} if len(busy) < 3 else set()

    stage.store.ready = suspects(1, 2)
    stage.dispatcher.ending = ending
    stage.dispatcher.run_once()
    assert (busy, stage.pool.busy) == ([0, 0, 0], 1)


def test_a_suspect_begins_when_the_end_of_the_one_before_is_stored(stage):
    stage.executor.gate.set()
    stage.store.ready = suspects(1)
    stage.dispatcher.run_once()
    assert stage.pool.wait_idle(10)
    looks = []

    def ending():  # as of an acker that still has the outcome of the first
        looks.append(stage.pool.ended)
        return {claimed(1).key} if len(looks) < 3 else set()

    stage.dispatcher.ending = ending
    stage.store.ready = suspects(2)
    stage.dispatcher.run_once()
    assert looks == [1, 1, 1]


def test_a_suspect_that_meets_one_which_runs_for_long_comes_back_after_as_long_again(stage, monkeypatch):
    stage.store.ready = suspects(1)
    stage.dispatcher.run_once()
    [running] = stage.pool.executions
    wait_until(lambda: running.began)
    for seconds, delay in ((0.5, 0.5), (60, SUSPECT_SECONDS)):
        monkeypatch.setattr(type(running), "seconds", seconds)
        stage.store.ready = suspects(2)
        stage.dispatcher.run_once()
        assert stage.given_back.pop().outcome.delay == delay


def test_tasks_that_may_crash_once_more_run_side_by_side(stage):
    stage.dispatcher.is_suspect = lambda task: task.crashes >= 2
    stage.store.ready = suspects(1, 2)
    stage.dispatcher.run_once()
    assert stage.pool.busy == 2
    assert stage.given_back == []


def test_a_task_whose_worker_died_runs_beside_others(stage):
    stage.store.ready = [claimed(1)._replace(crashes=1), claimed(2)]
    stage.dispatcher.run_once()
    assert stage.pool.busy == 2
