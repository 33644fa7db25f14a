"""Runs a chunk: one call of the function for all its members, and an outcome for each of them."""

import json
import time
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from django_locqueue.definition import TaskDefinition
from django_locqueue.exceptions import Retry, TaskTimeout
from django_locqueue.policies import chunk
from django_locqueue.policies.chunk import ChunkCall
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from django_locqueue.worker.call import BoundCall
from django_locqueue.worker.chunk_execution import ChunkContext, ChunkExecution
from django_locqueue.worker.execution import Execution
from django_locqueue.worker.executor import Executor, endless

_DECIDED = Outcome(Kind.SUCCESSFUL)  # what a step returns whose outcomes the members have


class ChunkExecutor(Executor):
    """The executor's steps for a chunk. What concerns one member is left to ``single``, as if it ran alone."""

    def __init__(self, single: Executor) -> None:
        super().__init__(single.backend, single.watch, owns_connections=single.owns_connections)
        self.single = single

    def begin(self, execution: Execution) -> Outcome | BoundCall:
        begun: list[tuple[Execution, BoundCall]] = []
        for member in execution.members:
            call = self.single.begin(member)
            if isinstance(call, Outcome):
                member.outcome = call  # it was cancelled, or its arguments are damaged: the function never hears of it
            else:
                begun.append((member, call))
        if not begun:
            return _DECIDED
        calls = [_chunk_call(member, call) for member, call in begun]
        _, first = begun[0]
        args: list[Any] = [calls]
        execution.cancel_grace = self.single.cancel_grace  # with or without a context: its calls say whether to stop
        if first.plan.definition.takes_context:
            args = [ChunkContext(execution=execution, store=self.store), calls]
        hooked = first.hooked and replace(first.hooked, chunk=[call.hooked for _, call in begun if call.hooked])
        return replace(first, args=args, kwargs={}, hooked=hooked)

    def normalise(self, execution: Execution, options: TaskDefinition | None, value: Any) -> Outcome:
        called = _called(execution)
        try:
            values = chunk.results(value, len(called))
        except ValueError as error:
            # As with a value that cannot be stored: the work is done, and would not be undone by another try.
            return Outcome(Kind.FAILED, error=ErrorReport.of(error), exception=error)
        return self._decide(called, options, values)

    def after_error(self, execution: Execution, options: TaskDefinition | None, error: BaseException) -> Outcome:
        called = _called(execution)
        if isinstance(error, Retry):  # raised it is meant for all, and so for their rate; as a value, for one alone
            self.single.pause_rate(execution.claimed, error.after)
        return self._decide(called, options, chunk.failures(error, len(called)))

    def _decide(self, called: Sequence[Execution], options: TaskDefinition | None, values: Sequence[Any]) -> Outcome:
        for member, value in zip(called, values, strict=True):
            step = self.single.judge if isinstance(value, BaseException) else self.single.normalise
            member.outcome = step(member, options, value)
        return _DECIDED

    def end(self, execution: Execution, outcome: Outcome) -> None:
        """``outcome``: of the members that have none of their own."""
        for member in execution.members:
            self.single.end(member, member.outcome or outcome)
        execution.outcome = None  # no ring: an error's traceback leads to the execution
        execution.ended = time.monotonic()

    def give_up(self, execution: Execution) -> Execution:
        error = endless(execution)
        members = [self._given_up(member, error) for member in execution.members]
        end = ChunkExecution(members)
        end.began = execution.began
        return end

    def _given_up(self, member: Execution, error: TaskTimeout) -> Execution:
        if member.outcome is None:
            return self.single.given_up(member, error)
        end = copy(member)
        self.single.end(end, member.outcome)
        return end


def _called(execution: Execution) -> list[Execution]:
    """Return the members whose calls the function has got, in their order."""
    return [member for member in execution.members if member.outcome is None]


def _chunk_call(member: Execution, call: BoundCall) -> ChunkCall:
    claimed = member.claimed
    metadata = json.loads(claimed.metadata) if claimed.metadata else {}
    return ChunkCall(
        call.args, call.kwargs, str(claimed.id), claimed.attempt, metadata, lambda: member.stop_reason is not None
    )
