"""Run tasks in this process, without a worker's services: one task at a time, as a slot would."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from django.db import connections, transaction

from django_locqueue import compat
from django_locqueue.backend import LocQueueBackend
from django_locqueue.exceptions import TaskTimeout
from django_locqueue.models import Task
from django_locqueue.policies.outcome import Outcome
from django_locqueue.sessions import watch_this_thread
from django_locqueue.store import Chunk, Claimed
from django_locqueue.store.serve import Owner
from django_locqueue.worker.async_executor import AsyncExecutor
from django_locqueue.worker.chunk_execution import ChunkExecution
from django_locqueue.worker.chunk_executor import ChunkExecutor
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor
from django_locqueue.worker.telling import tell_finished


def our_backend(alias: str = "default") -> LocQueueBackend:
    backend = compat.task_backends[alias]
    assert isinstance(backend, LocQueueBackend)
    return backend


def in_thread(work: Callable[[], Any]) -> Any:
    """Return what ``work`` returns, run in a thread with connections of its own; raise what it raises."""
    box: list[Any] = []

    def run() -> None:
        try:
            box.append((work(), None))
        except BaseException as error:
            box.append((None, error))
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, name="test-slot")
    thread.start()
    thread.join()
    value, error = box[0]
    if error is not None:
        raise error
    return value


def claim_next(lease: float = 60) -> Claimed:
    """Claim the first ready task for a worker named ``tests:1``."""
    store = our_backend().store
    worker = store.register_worker("tests:1", lease=lease)
    [claimed] = store.claim(Owner(worker.pk, worker.name), 1)
    return claimed


def claim_chunk(lease: float = 60) -> Chunk:
    """Claim the chunk whose turn it is, for a worker named ``tests:1``."""
    store = our_backend().store
    worker = store.register_worker("tests:1", lease=lease)
    [chunk] = store.claim_limited(Owner(worker.pk, worker.name), 1).chunks
    return chunk


def run_chunk(meanwhile: Callable[[ChunkExecution], Any] = lambda chunk: None) -> list[Execution]:
    """Claim the chunk whose turn it is, run it, record and announce what came of each member; return their executions.

    ``meanwhile`` is called before it runs.
    """

    def run() -> list[Execution]:
        backend = our_backend()
        execution = ChunkExecution.of(claim_chunk())
        meanwhile(execution)
        single = Executor(backend, watch=_interrupt_in_time)
        execution.begin()
        ChunkExecutor(single).run(execution)
        written = backend.store.ack([(each.claimed, each.outcome) for each in execution.members if each.outcome])
        for member in execution.members:
            member.settle(written.get(member.key))
            tell_finished(single, member)
        return execution.members

    members: list[Execution] = in_thread(run)
    return members


def _interrupt_in_time(execution: Execution) -> None:
    """Stand in for the watchdog."""

    def interrupt() -> None:
        if execution.interruptible is not None:
            execution.interruptible.interrupt(TaskTimeout)

    if execution.timeout is None:  # it was asked to stop
        return
    timer = threading.Timer(execution.timeout, interrupt)
    timer.daemon = True
    timer.start()


def perform(executions: list[Execution]) -> None:
    """Run them one after the other on this thread, and record and announce each outcome."""
    backend = our_backend()
    executor = Executor(backend, watch=_interrupt_in_time)
    for execution in executions:
        executor.run(execution)
        if execution.written is None:
            assert execution.outcome is not None
            execution.settle(backend.store.ack([(execution.claimed, execution.outcome)]).get(execution.key))
        tell_finished(executor, execution)


def run_next(tasks: int = 1) -> list[Execution]:
    """Claim that many ready tasks one by one, and run them on one slot. Needs committed rows."""

    def run() -> list[Execution]:
        watch_this_thread()
        executions = []
        for _ in range(tasks):
            execution = Execution(claim_next())
            perform([execution])
            executions.append(execution)
        return executions

    executions: list[Execution] = in_thread(run)
    return executions


def run_on_loop() -> Outcome:
    """Claim the next task, and run it as the event loop of a worker does; return its outcome. Nothing is recorded."""

    def run() -> Outcome | None:
        execution = Execution(claim_next())
        executor = Executor(our_backend())
        asyncio.run(AsyncExecutor(executor, ChunkExecutor(executor)).run(execution))
        return execution.outcome

    outcome: Outcome = in_thread(run)
    return outcome


def run_one(result: Any) -> Any:
    """Run the first ready task and return ``result``, refreshed."""
    run_next()
    result.refresh()
    return result


def row(result: Any) -> Task:
    """Return the stored row of a result."""
    task: Task = Task.objects.get(pk=int(result.id))
    return task


def enqueue_as(task_path: str, definition: Any, *args: Any) -> Any:
    """Enqueue a task of another path. In one transaction: a worker that is there must not see it with its own."""
    with transaction.atomic():
        result = definition.enqueue(*args)
        Task.objects.filter(pk=int(result.id)).update(task_path=task_path)
    return result


def make_ready(result: Any) -> None:
    """Let a task that waits for its next try be ready now."""
    assert our_backend().store.run_now([int(result.id)]) == [int(result.id)]
