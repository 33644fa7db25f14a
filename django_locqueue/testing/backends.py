"""Django's immediate and dummy backends for settings that are otherwise those of our own.

They take what ours takes: its ``OPTIONS``, which are checked, hooks, definitions with its options, ``enqueue_many`` and
``run_after``. No row is written.
"""

import itertools
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from django_locqueue import compat
from django_locqueue.backend import LocQueueBackend
from django_locqueue.definition import TaskDefinition, argument_name, pairs
from django_locqueue.endings import send_finished
from django_locqueue.hooks import Dropped, dropped_result
from django_locqueue.policies import payload
from django_locqueue.policies.outcome import Kind, Outcome
from django_locqueue.result import STATUSES, QueuedTaskResult, new_result
from django_locqueue.store import Claimed
from django_locqueue.testing.drain import Interrupter
from django_locqueue.worker.call import BoundCall, Way
from django_locqueue.worker.chunk_execution import ChunkExecution
from django_locqueue.worker.chunk_executor import ChunkExecutor
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor

_ids = itertools.count(1)


class _WithoutRows(LocQueueBackend):
    """What both have in common: a call is looked at as ours looks at it, and nothing is stored."""

    stores_in_locqueue = False
    supports_get_result = False

    def enqueue(self, task: Any, args: Any, kwargs: Any) -> QueuedTaskResult:
        self._validate_once(task)
        asked = self.hooks.ask(task, args, kwargs)
        if isinstance(asked, Dropped):
            return dropped_result(asked)
        task, args, kwargs = asked
        text = payload.dump_call(args, kwargs, partial(argument_name, task))
        return self._take(task, text)

    def enqueue_many(
        self, task: Any, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]
    ) -> Sequence[QueuedTaskResult]:
        return [self.enqueue(task, args, kwargs) for args, kwargs in pairs(calls)]

    def _take(self, task: Any, text: str) -> QueuedTaskResult:
        raise NotImplementedError

    def _new_result(self, task: Any, text: str) -> QueuedTaskResult:
        args, kwargs = payload.load_call(text)
        return new_result(task, next(_ids), timezone.now(), args, kwargs)


class DummyBackend(_WithoutRows, compat.DummyBackend):
    """Remembers each call in ``results``, and runs none; ``clear()`` forgets them."""

    get_result = compat.DummyBackend.get_result  # type: ignore[assignment]
    aget_result = compat.DummyBackend.aget_result

    def _take(self, task: Any, text: str) -> QueuedTaskResult:
        result = self._new_result(task, text)
        self.results.append(result)
        self._announce([], [result])
        return deepcopy(result)  # as Django's: what happens to the caller's does not happen to ours


class ImmediateBackend(_WithoutRows, compat.ImmediateBackend):
    """Runs each call when it is enqueued, with the executor that workers use, once, whatever ``max_attempts`` says.

    Also one whose time has not come. What asks to be run again later (``Snooze``) stays READY, and is not.
    """

    def _take(self, task: Any, text: str) -> QueuedTaskResult:
        result = self._new_result(task, text)
        self._announce([], [result])
        interrupter = Interrupter()
        executor = _RowlessExecutor(self, watch=interrupter, owns_connections=False)
        execution = Execution(self._claimed(task, text, result))
        execution.result = result
        if (executor.way_of(task.module_path) or Way()).in_chunks:
            ChunkExecutor(executor).run(ChunkExecution([execution]))
        else:
            executor.run(execution)
        interrupter.cancel()
        outcome = execution.outcome or Outcome(Kind.RELEASED)
        if isinstance(outcome.exception, KeyboardInterrupt):
            raise outcome.exception  # a person wants the process to end
        _finish(result, outcome, self.worker_id)
        if result.is_finished and compat.is_heard(compat.task_finished, logging.INFO):
            send_finished(type(self), result, outcome.exception)
        return result

    def _claimed(self, task: Any, text: str, result: QueuedTaskResult) -> Claimed:
        """Return the task as a worker would have it."""
        metadata = task.metadata if isinstance(task, TaskDefinition) else None
        now = result.enqueued_at
        values = {
            **dict.fromkeys(Claimed._fields),
            "id": int(result.id),
            "claim_no": 1,
            "attempt": 1,
            "max_attempts": 1,
            "crashes": 0,
            "priority": int(task.priority),
            "queue_name": task.queue_name,
            "task_path": task.module_path,
            "backend_alias": self.alias,
            "args_kwargs": text,
            "metadata": payload.dump(metadata) if metadata else None,
            "worker_ids": f"{self.worker_id}\n",
            **dict.fromkeys(("run_after", "enqueued_at", "started_at", "last_attempted_at"), now),
        }
        return Claimed(**values)


class _RowlessExecutor(Executor):
    def _perform_atomic(self, execution: Execution, call: BoundCall) -> Outcome:
        with self.store.transaction():
            outcome = self._perform(execution, call)
            if outcome.exception is not None:
                transaction.set_rollback(True, using=self.store.alias)
        return outcome


def _finish(result: QueuedTaskResult, outcome: Outcome, worker_id: str) -> None:
    """Write what came of it into the result."""
    changes: dict[str, Any] = {"started_at": result.enqueued_at, "last_attempted_at": result.enqueued_at}
    result.worker_ids.append(worker_id)
    if outcome.kind in _FINISHED:
        changes["status"] = STATUSES[outcome.kind.value]
        changes["finished_at"] = timezone.now()
    if outcome.return_value is not None:
        changes["_return_value"] = json.loads(outcome.return_value)
    if (error := outcome.error) is not None:
        result.errors.append(compat.TaskError(exception_class_path=error.class_path, traceback=error.traceback))
    for name, value in changes.items():
        object.__setattr__(result, name, value)


_FINISHED = (Kind.SUCCESSFUL, Kind.FAILED, Kind.CANCELLED)
