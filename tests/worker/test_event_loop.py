"""Async tasks on the event loop of a worker, without a database of their own."""

import threading
import time

import pytest
from django.utils import translation

from django_locqueue.exceptions import StopTask
from django_locqueue.policies import payload
from django_locqueue.policies.outcome import Kind
from django_locqueue.worker import event_loop
from django_locqueue.worker.execution import StopReason
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.pool import Pool
from django_locqueue.worker.slots import SlotTable
from django_locqueue.worker.threads import ThreadRange
from tests import async_tasks, tasks, unruly_tasks
from tests.processes import wait_until
from tests.running import our_backend
from tests.worker.fakes import claimed

pytestmark = pytest.mark.django_db(transaction=True)  # receivers of signals may use it; most tests do not


@pytest.fixture(autouse=True)
def gate():
    async_tasks.gate.close()
    async_tasks.blocking.clear()
    async_tasks.left_behind.clear()
    yield async_tasks.gate
    async_tasks.gate.open()
    async_tasks.blocking.set()


class Stage:
    """A pool without the services around it. ``run`` returns the executions of the given calls in their order."""

    def __init__(self, concurrency=10, table=None):
        self.ended = []
        self.pool = Pool(
            ThreadRange(1, 1),
            Executor(our_backend()),
            on_end=self.ended.append,
            table=table,
            async_concurrency=concurrency,
        )
        self.pool.start()
        self.number = 0

    def submit(self, definition, *args, **changes):
        self.number += 1
        call = claimed(
            self.number,
            task_path=definition.module_path,
            args_kwargs=payload.dump_call(args, {}),
            max_attempts=definition.max_attempts or 1,
            **changes,
        )
        self.pool.submit([call])
        return call.key

    def run(self, definition, *args, **changes):
        key = self.submit(definition, *args, **changes)
        assert self.pool.wait_idle(10)
        [execution] = [each for each in self.ended if each.key == key]
        return execution

    def let_the_loop_turn(self):
        turned = threading.Event()
        self.pool._loop._loop.call_soon_threadsafe(turned.set)
        assert turned.wait(10)

    def know(self, definition, *args):
        """Run it once, so that the pool knows its kind."""
        self.run(definition, *args)
        self.ended.clear()


@pytest.fixture
def make_stage():
    stages = []

    def make(**options):
        stages.append(Stage(**options))
        return stages[-1]

    yield make
    async_tasks.gate.open()
    async_tasks.blocking.set()
    for stage in stages:
        stage.pool.wait_idle(10)
        stage.pool.stop(10)


@pytest.fixture
def stage(make_stage):
    return make_stage()


def test_async_tasks_run_on_the_loop_and_others_on_a_thread(stage):
    assert stage.run(async_tasks.name_the_thread).outcome.return_value == '"locqueue-loop"'
    assert stage.run(async_tasks.name_the_slot).outcome.return_value == '"locqueue-slot-1"'


def test_without_a_concurrency_async_tasks_run_on_threads(make_stage):
    stage = make_stage(concurrency=0)
    assert stage.run(async_tasks.end_by, "return").outcome.kind is Kind.SUCCESSFUL
    assert "locqueue-loop" not in {thread.name for thread in threading.enumerate()}


def test_the_loop_has_no_thread_before_its_first_task(stage):
    stage.run(tasks.add, 1)
    assert "locqueue-loop" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("how", "kind", "error"),
    [
        ("return", Kind.SUCCESSFUL, None),
        ("raise", Kind.RETRIED, "builtins.ValueError"),
        ("retry", Kind.RETRIED, "django_locqueue.exceptions.Retry"),
        ("snooze", Kind.SNOOZED, None),
        ("cancel", Kind.CANCELLED, "django_locqueue.exceptions.Cancel"),
        ("exit", Kind.FAILED, "builtins.SystemExit"),
        ("interrupt", Kind.FAILED, "builtins.KeyboardInterrupt"),
        ("cancelled", Kind.FAILED, "asyncio.exceptions.CancelledError"),
        ("unstorable", Kind.FAILED, "builtins.TypeError"),
    ],
)
def test_an_async_task_ends_by_the_same_rules(stage, how, kind, error):
    """F4: whatever it raises ends the task alone; the next runs on the same loop."""
    outcome = stage.run(async_tasks.end_by, how).outcome
    assert (outcome.kind, outcome.error and outcome.error.class_path) == (kind, error)
    assert stage.run(async_tasks.end_by, "return").outcome.kind is Kind.SUCCESSFUL


def test_the_wait_that_a_task_asked_for_is_kept(stage):
    assert stage.run(async_tasks.end_by, "retry").outcome.delay == 7


def test_the_last_attempt_of_an_async_task_fails(stage):
    assert stage.run(async_tasks.end_by, "raise", attempt=2).outcome.kind is Kind.FAILED


def test_an_async_task_has_its_context(stage):
    assert stage.run(async_tasks.check_the_context).outcome.return_value == '"1"'


def test_a_thread_is_free_while_async_tasks_wait(stage, gate):
    stage.know(async_tasks.end_by, "return")
    for _ in range(3):
        stage.submit(async_tasks.wait_at_gate)
    wait_until(lambda: len(gate.waiting) == 3)
    assert (stage.pool.free_threads, stage.pool.free_async) == (1, 7)


def test_no_more_run_at_once_than_the_concurrency(make_stage, gate):
    stage = make_stage(concurrency=2)
    for _ in range(5):
        stage.submit(async_tasks.wait_at_gate)
    wait_until(lambda: stage.pool.free_async == -3)
    wait_until(lambda: len(gate.waiting) == 2)
    assert sum(execution.began is not None for execution in stage.pool.executions) == 2
    gate.open()
    assert stage.pool.wait_idle(10)
    assert len(stage.ended) == 5


def test_what_waits_for_a_place_on_the_loop_can_be_withdrawn(make_stage, gate):
    stage = make_stage(concurrency=1)
    stage.submit(async_tasks.wait_at_gate)
    assert gate.first.wait(10)
    late = stage.submit(async_tasks.wait_at_gate)
    wait_until(lambda: stage.pool.free_async == -1)
    assert [execution.key for execution in stage.pool.withdraw(waited=0)] == [late]
    gate.open()
    assert stage.pool.wait_idle(10)
    assert late not in [execution.key for execution in stage.ended]


def test_a_full_loop_does_not_gather_what_was_withdrawn(make_stage, gate):
    stage = make_stage(concurrency=1)
    stage.submit(async_tasks.wait_at_gate)
    assert gate.first.wait(10)
    for _ in range(5):
        stage.submit(async_tasks.wait_at_gate)
        stage.let_the_loop_turn()
        [late] = stage.pool.withdraw(waited=0)
        late.ended = time.monotonic()  # its outcome is forgotten as soon as it is announced
    assert len(stage.pool._loop._waiting) == 1


@pytest.mark.parametrize(
    ("reason", "kind"), [(StopReason.CANCELLED, Kind.CANCELLED), (StopReason.SHUTDOWN, Kind.RELEASED)]
)
def test_an_async_task_that_is_asked_to_stop_is_cancelled_where_it_waits(stage, gate, reason, kind):
    stage.submit(async_tasks.wait_at_gate)
    assert gate.first.wait(10)
    stage.pool.ask_to_stop(reason)
    assert stage.pool.wait_idle(10)
    assert gate.cancelled == 1
    assert stage.ended[0].outcome.kind is kind


def test_an_async_task_that_is_asked_to_stop_before_it_begins_is_not_run(make_stage, gate):
    stage = make_stage(concurrency=1)
    stage.submit(async_tasks.wait_at_gate)
    assert gate.first.wait(10)
    stage.submit(async_tasks.end_by, "raise")
    wait_until(lambda: stage.pool.free_async == -1)
    stage.pool.ask_to_stop(StopReason.CANCELLED)
    assert stage.pool.wait_idle(10)
    assert {execution.outcome.error.class_path for execution in stage.ended} == {
        f"{StopTask.__module__}.{StopTask.__qualname__}"
    }


def test_a_task_that_shields_its_waits_hears_it_by_asking(stage, gate):
    stage.submit(async_tasks.run_until_it_hears)
    assert gate.first.wait(10)
    stage.pool.ask_to_stop(StopReason.CANCELLED)
    assert stage.pool.wait_idle(10)
    assert stage.ended[0].outcome.kind is Kind.CANCELLED


def test_f5_tasks_that_run_at_once_share_no_language(stage, gate):
    """F5: what one activates is not met by another, while it runs and after."""
    first = stage.submit(async_tasks.speak, "de")
    assert gate.first.wait(10)
    second = stage.submit(async_tasks.tell_language)
    wait_until(lambda: len(stage.ended) == 1)
    gate.open()
    assert stage.pool.wait_idle(10)
    said = {execution.key: execution.outcome.return_value for execution in stage.ended}
    assert said == {first: '"de"', second: '"en"'}
    assert translation.get_language() == "en"


def test_f5_a_task_begins_with_the_defaults_whatever_ran_before(stage):
    """F5: language, time zone, context variables, decimal precision and URLs of an async task end with it."""
    before = stage.run(unruly_tasks.look_at_the_thread_async).outcome.return_value
    stage.run(unruly_tasks.change_the_thread_async)
    assert stage.run(unruly_tasks.look_at_the_thread_async).outcome.return_value == before
    assert before == '["en","UTC","plain",28,null]'


def test_what_a_task_has_started_and_not_awaited_ends_with_it(stage):
    assert stage.run(async_tasks.leave_something_running).outcome.return_value == '"left"'
    wait_until(lambda: async_tasks.left_behind == ["cancelled"])


def test_what_a_task_started_does_not_end_the_loop_by_an_exit(stage, caplog):
    assert stage.run(async_tasks.exit_in_the_background).outcome.return_value == '"still here"'
    assert stage.run(async_tasks.end_by, "return").outcome.kind is Kind.SUCCESSFUL
    assert stage.pool.dead_threads == 0
    assert "the event loop goes on" in caplog.text


def test_a_task_that_blocks_the_loop_is_named_once(stage, monkeypatch, caplog):
    monkeypatch.setattr(event_loop, "ASK_SECONDS", 0)
    monkeypatch.setattr(event_loop, "BLOCKED_SECONDS", 0)
    stage.submit(async_tasks.block_the_loop)
    assert async_tasks.gate.first.wait(10)
    for _ in range(4):
        stage.pool.watch()
    async_tasks.blocking.set()
    assert stage.pool.wait_idle(10)
    [record] = [record for record in caplog.records if "held up" in record.message]
    assert "block_the_loop #1 (" in record.message


def test_a_loop_that_answers_is_not_told(stage, gate, monkeypatch, caplog):
    monkeypatch.setattr(event_loop, "ASK_SECONDS", 0)
    monkeypatch.setattr(event_loop, "BLOCKED_SECONDS", 0)
    stage.submit(async_tasks.wait_at_gate)
    assert gate.first.wait(10)
    for _ in range(3):
        stage.pool.watch()
        stage.let_the_loop_turn()
    assert "held up" not in caplog.text


def test_the_supervisor_sees_which_async_tasks_run(make_stage, gate):
    table = SlotTable.create()
    stage = make_stage(table=table)
    stage.know(async_tasks.end_by, "return")
    keys = [stage.submit(async_tasks.wait_at_gate) for _ in range(3)]
    wait_until(lambda: len(gate.waiting) == 3)
    assert table.running() == set(keys)
    gate.open()
    assert stage.pool.wait_idle(10)
    assert table.running() == set()


def test_an_async_task_of_an_unknown_path_goes_back_as_others_do(stage):
    stage.pool.submit([claimed(99, task_path="tests.async_tasks.gone")])
    assert stage.pool.wait_idle(10)
    assert stage.ended[-1].outcome.kind is Kind.RELEASED


def test_async_tasks_that_another_cancels_before_they_begin_go_back_uncharged(stage):
    stage.know(async_tasks.cancel_others)
    stage.know(async_tasks.tell_language)
    submitted = threading.Event()
    stage.pool._loop._loop.call_soon_threadsafe(submitted.wait, 10)
    stage.submit(async_tasks.cancel_others)
    keys = {stage.submit(async_tasks.tell_language) for _ in range(5)}
    submitted.set()
    assert stage.pool.wait_idle(10)
    kinds = {each.outcome.kind for each in stage.ended if each.key in keys}
    assert kinds == {Kind.RELEASED}
    assert len(stage.pool._loop._places) == 10


def test_a_loop_that_begins_is_not_taken_for_one_that_has_ended(monkeypatch):
    """The worker left with 1 when it looked between the two steps."""
    stage = Stage()
    seen = []
    start = threading.Thread.start

    def looked_at(thread):
        seen.append(stage.pool.dead_threads)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", looked_at)
    stage.submit(tasks.echo_async, 1)
    wait_until(lambda: stage.ended)
    assert seen
    assert set(seen) == {0}
    stage.pool.stop(10)
