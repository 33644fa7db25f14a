"""Chunks in the hands of the dispatcher: one slot, and members that are known each for itself."""

import pytest

from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Chunk
from django_locqueue.worker.execution import StopReason
from tests.processes import wait_until
from tests.worker.fakes import claimed
from tests.worker.stage import on_stage, suspects


@pytest.fixture
def stage(settings):
    settings.LOCQUEUE = {"WORKER": {"POLL_SECONDS": (0.1, 2)}}
    with on_stage(size=2) as stage:
        yield stage


def a_chunk(*ids, **changes):
    return Chunk(tuple(claimed(id, **changes) for id in ids))


def give(stage, *tasks):
    """Let the next claim give these."""
    stage.store.ready = [*tasks]
    stage.dispatcher.claimer.claim = lambda owner, limit, now: stage.store.claim(owner, limit)
    stage.dispatcher.run_once()


def test_a_chunk_takes_one_slot_and_its_members_are_known(stage):
    give(stage, a_chunk(1, 2, 3), claimed(4))
    assert (stage.pool.busy, stage.pool.free_threads) == (2, 0)
    assert [member.claimed.id for member in stage.pool.members] == [1, 2, 3, 4]


def test_the_members_of_a_chunk_that_waited_too_long_for_a_thread_go_back(stage):
    give(stage, claimed(1), claimed(2))
    wait_until(lambda: all(execution.began for execution in stage.pool.executions))
    stage.pool.submit([a_chunk(3, 4)])
    stage.dispatcher.give_back_unstarted()
    assert [(late.claimed.id, late.outcome.kind) for late in stage.given_back] == [
        (3, Kind.RELEASED),
        (4, Kind.RELEASED),
    ]
    assert [member.claimed.id for member in stage.pool.members] == [1, 2]


def test_of_the_suspects_in_a_chunk_one_runs_beside_those_that_are_none(stage):
    give(stage, Chunk((*a_chunk(1, 2, 3, crashes=1).members, claimed(4))))
    assert [member.claimed.id for member in stage.pool.members] == [1, 4]
    assert [late.claimed.id for late in stage.given_back] == [2, 3]


def test_a_chunk_of_suspects_goes_back_while_another_runs(stage):
    give(stage, *suspects(1))
    give(stage, a_chunk(2, 3, crashes=1))
    assert stage.pool.busy == 1
    assert [late.claimed.id for late in stage.given_back] == [2, 3]


def test_a_chunk_counts_as_one_task_of_those_that_a_worker_may_run(stage):
    stage.dispatcher.most_tasks = 2
    give(stage, a_chunk(1, 2, 3))
    give(stage, a_chunk(4, 5), claimed(6))
    assert stage.store.wanted == [2, 1]


def test_a_member_that_is_asked_to_stop_does_not_stop_the_others(stage):
    stage.pool.submit([a_chunk(1, 2)])
    stage.pool.ask_to_stop(StopReason.CANCELLED, {2})
    assert [member.stop_reason for member in stage.pool.members] == [None, StopReason.CANCELLED]
    assert [execution.stop_reason for execution in stage.pool.executions] == [None]
