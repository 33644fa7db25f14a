"""Chunks on the slots of a pool, without the services and the database around it."""

import threading

import pytest

from django_locqueue.policies import payload
from django_locqueue.policies.outcome import Kind
from django_locqueue.store import Chunk
from django_locqueue.worker.chunk_execution import ChunkExecution
from django_locqueue.worker.chunk_executor import ChunkExecutor
from django_locqueue.worker.execution import StopReason
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.pool import Pool
from django_locqueue.worker.slots import SlotTable
from django_locqueue.worker.threads import ThreadRange
from tests import chunked_tasks, tasks
from tests.processes import wait_until
from tests.running import our_backend
from tests.worker.fakes import claimed, ended

pytestmark = pytest.mark.django_db(transaction=True)  # receivers of signals may use it; the tests do not


class Stage:
    def __init__(self):
        self.ended = []
        self.table = SlotTable.create()
        self.executor = Executor(our_backend())
        self.chunk_executor = ChunkExecutor(self.executor)
        self.pool = Pool(
            ThreadRange(1, 1),
            self.executor,
            on_end=self.ended.append,
            table=self.table,
            async_concurrency=10,
            chunk_executor=self.chunk_executor,
        )
        self.pool.start()

    def run(self, *submitted):
        """Return the members of what has ended, in the order of their ids."""
        self.pool.submit(submitted)
        assert self.pool.wait_idle(10)
        ended = sorted((member for each in self.ended for member in each.members), key=lambda each: each.claimed.id)
        self.ended.clear()
        return ended


@pytest.fixture
def stage():
    chunked_tasks.seen.clear()
    chunked_tasks.gate.clear()
    chunked_tasks.entered.clear()
    stage = Stage()
    yield stage
    chunked_tasks.gate.set()
    assert stage.pool.wait_idle(10)
    stage.pool.stop(10)


def a_task(id, definition, *args):
    return claimed(id, task_path=definition.module_path, args_kwargs=payload.dump_call(args, {}))


def a_chunk(definition, *calls):
    return Chunk(tuple(a_task(number, definition, *args) for number, args in enumerate(calls, 1)))


def values(members):
    return [(member.claimed.id, member.outcome.kind, member.outcome.return_value) for member in members]


def test_a_chunk_ends_as_one_run_with_an_outcome_for_each_member(stage):
    assert values(stage.run(a_chunk(chunked_tasks.answer, ("value", "a"), ("value", "b")))) == [
        (1, Kind.SUCCESSFUL, '"a"'),
        (2, Kind.SUCCESSFUL, '"b"'),
    ]
    assert stage.pool.ended == 1


def test_a_chunk_of_an_async_function_runs_on_the_event_loop(stage):
    for _ in range(2):  # the second time its kind is known
        ended = stage.run(a_chunk(chunked_tasks.answer_async, ("value", 1), ("error", "no")))
        assert [member.outcome.kind for member in ended] == [Kind.SUCCESSFUL, Kind.FAILED]
    assert stage.pool.is_async(a_task(1, chunked_tasks.answer_async))
    assert stage.pool.free_async == 10


def test_each_member_that_runs_is_in_the_slot_table(stage):
    stage.pool.submit([a_chunk(chunked_tasks.wait_for_gate, (), ())])
    assert chunked_tasks.entered.wait(10)
    assert stage.table.running() == {(1, 1), (2, 1)}
    chunked_tasks.gate.set()
    assert stage.pool.wait_idle(10)
    assert (stage.table.running(), stage.table.begun()) == (set(), {(1, 1), (2, 1)})


@pytest.mark.parametrize("is_known", [False, True])
def test_tasks_of_a_definition_that_no_longer_runs_in_chunks_run_alone(stage, is_known):
    if is_known:
        stage.run(a_task(9, tasks.echo, "before"))
    assert values(stage.run(a_chunk(tasks.echo, ("a",), ("b",)))) == [
        (1, Kind.SUCCESSFUL, '"a"'),
        (2, Kind.SUCCESSFUL, '"b"'),
    ]


@pytest.mark.parametrize("is_known", [False, True])
def test_a_task_that_was_enqueued_before_its_definition_ran_in_chunks_is_a_chunk_of_one(stage, is_known):
    if is_known:
        stage.run(a_chunk(chunked_tasks.answer, ("value", 0)))
    assert values(stage.run(a_task(1, chunked_tasks.answer, "value", 7))) == [(1, Kind.SUCCESSFUL, "7")]


def test_a_chunk_whose_definition_cannot_be_had_when_it_is_handed_out_stays_a_chunk(stage, monkeypatch):
    monkeypatch.setattr(stage.pool.executor, "way_of", lambda path: None)
    assert values(stage.run(a_chunk(chunked_tasks.answer, ("value", 7)))) == [(1, Kind.SUCCESSFUL, "7")]


def test_a_task_whose_definition_cannot_be_had_then_and_runs_in_chunks_goes_back(stage, monkeypatch):
    monkeypatch.setattr(stage.pool.executor, "way_of", lambda path: None)
    [ended] = stage.run(a_task(1, chunked_tasks.answer, "value", 7))
    assert ended.outcome.kind is Kind.RELEASED
    monkeypatch.undo()
    assert values(stage.run(a_task(2, chunked_tasks.answer, "value", 7))) == [(2, Kind.SUCCESSFUL, "7")]


def test_each_member_of_a_path_that_leads_to_no_task_goes_back_for_a_version_that_knows_it(stage):
    ended = stage.run(Chunk((claimed(1, task_path="tests.gone.away"), claimed(2, task_path="tests.gone.away"))))
    assert [member.outcome.kind for member in ended] == [Kind.RELEASED] * 2


def test_a_chunk_that_does_not_end_is_given_up_with_all_its_members(stage):
    stage.pool.submit([a_chunk(chunked_tasks.hang, (), ())])
    [execution] = stage.pool.executions
    wait_until(lambda: execution.deadline)
    assert stage.pool.give_up(execution, stage.chunk_executor.give_up(execution))
    assert stage.table.running() == set()
    [end] = stage.ended
    assert [member.outcome.error.message for member in end.members] == ["ran longer than its timeout of 0.2 s"] * 2
    assert "in hang" in end.members[0].outcome.error.traceback
    assert stage.pool.stuck_threads == 1
    chunked_tasks.gate.set()
    wait_until(lambda: not stage.pool.stuck_threads)
    assert stage.ended == [end]  # the thread that came back ended nothing


def test_a_member_that_was_asked_to_stop_is_given_up_as_it_ended():
    executor = Executor(our_backend())
    execution = ChunkExecution.of(a_chunk(chunked_tasks.hang, (), ()))
    execution.timeout, execution.ident = 0.2, threading.get_ident()
    execution.members[0].ask_to_stop(StopReason.CANCELLED)
    chunk_executor = ChunkExecutor(executor)
    chunk_executor.begin(execution)
    end = chunk_executor.give_up(execution)
    assert [member.outcome.kind for member in end.members] == [Kind.CANCELLED, Kind.FAILED]


def test_a_chunk_one_task_of_which_ended_before_it_began_is_cancelled_with_the_others():
    execution = ChunkExecution.of(Chunk((claimed(1), claimed(2))))
    execution.members[0].outcome = ended(claimed(1)).outcome
    execution.ask_to_stop(StopReason.CANCELLED, {2})
    assert execution.stop_reason is StopReason.CANCELLED


def test_a_chunk_whose_lease_was_in_doubt_is_cancelled_when_all_of_its_tasks_are():
    execution = ChunkExecution.of(Chunk((claimed(1), claimed(2))))
    execution.ask_to_stop(StopReason.LEASE_LOST)
    execution.ask_to_stop(StopReason.CANCELLED, {1})
    assert execution.stop_reason is StopReason.LEASE_LOST
    execution.ask_to_stop(StopReason.CANCELLED, {2})
    assert execution.stop_reason is StopReason.CANCELLED
