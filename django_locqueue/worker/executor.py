"""Runs one task: resolve, begin, perform, normalise. Whatever the task does ends as an outcome."""

import contextvars
import json
import logging
import os
import random
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, InterfaceError, OperationalError

from django_locqueue import compat, conf, registry
from django_locqueue.backend import LocQueueBackend
from django_locqueue.connections import clean_connections, close_cut_connections
from django_locqueue.definition import TaskDefinition, resolve
from django_locqueue.exceptions import InvalidPayload, LeaseLost, Retry, StopTask, TaskTimeout, UnknownTask
from django_locqueue.models import State
from django_locqueue.policies import payload, retry
from django_locqueue.policies.outcome import ErrorReport, Kind, Outcome
from django_locqueue.result import running_result
from django_locqueue.service import describe
from django_locqueue.store import Claimed
from django_locqueue.worker import deadline
from django_locqueue.worker.call import BoundCall, Plan, Way, expired, holds_items, is_async, missed
from django_locqueue.worker.execution import Execution, StopReason, TaskContext
from django_locqueue.worker.log_keeper import follow
from django_locqueue.worker.unknown import UnknownPaths

logger = logging.getLogger("django_locqueue.task")

NOT_BEGUN_SECONDS = 1.0  # a task that could not even begin waits this long


class Executor:
    """``backend``: the worker's own. Its database is served; a task's options are those of the task's backend.

    ``watch(execution)`` is called when a function begins that has a deadline, and when one is cancelled; ``reported``
    for each word that a task says of its progress, and each line of its log. ``owns_connections``: not where they are
    a test's.
    """

    def __init__(
        self,
        backend: LocQueueBackend,
        watch: deadline.Watch = lambda execution: None,
        reported: Callable[[Execution], object] = lambda execution: None,
        owns_connections: bool = True,
    ) -> None:
        self.backend = backend
        self.owns_connections = owns_connections
        self._pid = os.getpid()
        self.store = backend.store
        self.watch = watch
        self.reported = reported
        self.cancel_grace = float(conf.worker.CANCEL_GRACE_SECONDS)
        self._unknown = UnknownPaths()
        self._backends: dict[str, LocQueueBackend] = {}
        self._plans: dict[tuple[str, str], Plan] = {}

    def _plan(self, claimed: Claimed) -> Plan:
        key = claimed.task_path, claimed.backend_alias
        return self._plans.setdefault(key, Plan.of(self._unknown.resolve(claimed.task_path), self.backend_of(claimed)))

    def backend_of(self, claimed: Claimed) -> LocQueueBackend:
        """Return the backend that the task was enqueued with; the worker's own if it is gone from ``TASKS``."""
        alias = claimed.backend_alias
        if alias not in self._backends:  # kept, since each task runs in a context of its own, without Django's cache
            try:
                self._backends[alias] = registry.our_backend(alias) or self.backend
            except Exception:
                logger.exception("TASKS[%r] is broken; its tasks get the options of %r.", alias, self.backend.alias)
                self._backends[alias] = self.backend
        return self._backends[alias]

    def is_suspect(self, claimed: Claimed) -> bool:
        """Whether its workers died while they ran it, so often that once more would fail it."""
        return 0 < claimed.crashes >= self.backend_of(claimed).max_crashes - 1

    @property
    def is_heard(self) -> bool:
        """Whether somebody hears of the beginnings or the ends of tasks."""
        heard = (compat.task_started, logging.INFO), (compat.task_finished, logging.INFO)
        return any(compat.is_heard(signal, level) for signal, level in heard)

    def way_of(self, path: str) -> Way | None:
        """Return how the tasks of a definition run; None: it cannot be had now, and may be there a moment later."""
        try:
            definition = contextvars.Context().run(resolve, path)
        except UnknownTask:
            return None
        # With `atomic` on a thread: its transaction is the thread's.
        on_loop = is_async(definition.func) and not getattr(definition, "atomic", False)
        return Way(on_loop, getattr(definition, "chunk", None) is not None)

    def run(self, execution: Execution) -> None:
        """Run the task and set ``execution.outcome``. Never raises."""
        try:
            if self.owns_connections:
                close_cut_connections()
            # A fresh context: what a task sets of language, time zone, decimals or context variables ends with it.
            # No variable here holds the outcome: its error's traceback leads here, and such a ring would keep what the
            # task had in its frames until the garbage collector comes.
            execution.outcome = contextvars.Context().run(self._run, execution)
        except BaseException as error:
            execution.outcome = self.fault(execution, error)
        self.end(execution, execution.outcome)
        if self.owns_connections:
            clean_connections()

    def fault(self, execution: Execution, error: BaseException) -> Outcome:
        claimed = execution.claimed
        logger.error("Running %s #%d failed outside the task.", claimed.name, claimed.id, exc_info=error)
        return Outcome(Kind.FAILED, error=ErrorReport.of(error), exception=error)

    def end(self, execution: Execution, outcome: Outcome) -> None:
        execution.outcome = self._whole(execution, outcome)
        execution.ended = time.monotonic()

    def _whole(self, execution: Execution, outcome: Outcome) -> Outcome:
        """Return it with the last report. ``RETENTION`` 0: the row goes with the outcome, and needs no pruning."""
        if execution.lines is not None or execution.report is not None:
            outcome = outcome._replace(report=execution.said)
        forgotten = self.backend_of(execution.claimed).forgotten
        # What is put back only ends if somebody cancelled it.
        if forgotten and FINISHED.get(outcome.kind, State.CANCELLED) in forgotten:
            return outcome._replace(keep_row=False)
        return outcome

    def _run(self, execution: Execution) -> Outcome:
        call = self.begin(execution)
        if isinstance(call, Outcome):
            return call
        if call.plan.is_chunked is not execution.is_chunk:
            return Outcome(Kind.RELEASED)  # its definition could not be had when it was handed out
        return self._perform_atomic(execution, call) if call.plan.is_atomic else self._perform(execution, call)

    def begin(self, execution: Execution) -> Outcome | BoundCall:
        """Return what is to be called, its start announced; or the outcome, if it cannot begin."""
        if execution.stop_reason is not None:  # it waited for a thread until it was too late
            return _stopped(execution, StopTask(execution.stop_reason))
        claimed = execution.claimed
        try:
            plan = self._plans.get((claimed.task_path, claimed.backend_alias)) or self._plan(claimed)
        except UnknownTask as error:
            return self._unknown.outcome(self.store, claimed, error)
        except ImproperlyConfigured:
            logger.exception("#%d could not begin, because the settings of its backend are wrong.", claimed.id)
            return Outcome(Kind.RELEASED, delay=NOT_BEGUN_SECONDS)
        try:
            args, kwargs = payload.load_call(claimed.args_kwargs)
        except (ValueError, TypeError, RecursionError) as error:
            damaged = InvalidPayload(f"The stored arguments are damaged: {error}")
            return Outcome(Kind.FAILED, error=ErrorReport.of(damaged), exception=damaged)
        if claimed.terms is not None and (end := self._by_its_terms(execution)) is not None:
            return end
        definition, options = plan.definition, plan.options
        is_heard = compat.is_heard(compat.task_started, logging.INFO)
        # A result is a tenth of a tiny task's time, so it is made only where somebody will see it.
        if is_heard or definition.takes_context or (options and callable(options.backoff)):
            try:
                execution.result = running_result(claimed, definition, database=self.store.alias)
            except Error as error:
                return _without_database(claimed, error)
        hooked = None
        if plan.hooks.has_run_hooks:
            try:
                hooked = plan.hooks.meet(claimed, definition, args, kwargs)
            except BaseException as error:
                return self.after_error(execution, options, error)
        if is_heard:
            compat.task_started.send_robust(type(self.backend_of(claimed)), task_result=execution.result)
        if definition.takes_context and not plan.is_chunked:
            metadata = json.loads(claimed.metadata) if claimed.metadata else {}
            execution.cancel_grace = self.cancel_grace
            context = TaskContext(
                task_result=execution.result,
                execution=execution,
                metadata=metadata,
                store=self.store,
                reported=self.reported,
            )
            args = [context, *args]
        if execution.start_by is not None and (late := missed(execution)) is not None:  # by now: hooks take time
            return late
        return BoundCall(plan, args, kwargs, hooked)

    def _by_its_terms(self, execution: Execution) -> Outcome | None:
        """Return the end of a task that comes too late; None: it may begin, and its items are free."""
        claimed = execution.claimed
        if late := expired(claimed) or missed(execution):
            return late
        if holds_items(claimed):
            try:
                self.store.free_items(claimed.id)
            except Error as error:
                return _without_database(claimed, error)
        return None

    def _call(self, execution: Execution, call: BoundCall) -> Any:
        follow(execution, self.reported)
        try:
            return deadline.call(execution, call, self.watch)
        finally:
            if os.getpid() != self._pid:
                # The task forked, and its child comes out of the function: it must not go on as a second worker, nor
                # commit on the connection that it shares with its parent.
                os._exit(1)

    def _perform(self, execution: Execution, call: BoundCall) -> Outcome:
        try:
            value = self._call(execution, call)
        except BaseException as error:
            return self.after_error(execution, call.plan.options, error)
        return self.normalise(execution, call.plan.options, value)

    def _perform_atomic(self, execution: Execution, call: BoundCall) -> Outcome:
        """The function's database work and its outcome commit together, or neither does."""
        claimed, options, step = execution.claimed, call.plan.options, "begin"
        refused: list[BaseException] = []  # by the database, of what the function sent within our transaction
        try:
            with self.store.transaction(), self.store.connection.execute_wrapper(_noting(refused)):
                step = "perform"
                value = self._call(execution, call)
                step = "ack"
                outcome = self._whole(execution, self.normalise(execution, options, value))
                if outcome.exception is not None:
                    raise outcome.exception
                written = self.store.ack([(claimed, outcome)]).get(claimed.key)
                if written is None:
                    raise LeaseLost(f"#{claimed.id} was taken from this worker; its work is rolled back.")
                step = "commit"
        except BaseException as error:
            ours = step != "perform" or any(error is each for each in refused)
            refused.clear()  # no ring
            # Of a database that is away when we begin or commit the task knows nothing. If the commit has succeeded and
            # its answer was lost, what is written here is refused.
            is_lost = step in ("begin", "commit") or (step == "ack" and self.store.connection.connection is None)
            is_away = is_lost and isinstance(error, OperationalError | InterfaceError)
            if is_away or (ours and isinstance(error, Error) and self.store.is_transient(error)):
                # A deadlock's victim, a lock that was busy: the whole transaction is to be repeated, which only we
                # can. Not so an error of another database, or one that the function made up.
                logger.warning("%s #%d runs again: %s", claimed.name, claimed.id, describe(error))
                return Outcome(Kind.RELEASED, delay=NOT_BEGUN_SECONDS * random.uniform(0.5, 1.5))
            return self.after_error(execution, options, error)
        execution.written = written  # the outcome is stored already
        return outcome

    def normalise(self, execution: Execution, options: TaskDefinition | None, value: Any) -> Outcome:
        keeps = options is None or options.keep_result
        if value is None:
            return RETURNED_NOTHING[keeps]
        try:
            text = payload.dump(value if type(value) in SCALARS else compat.normalize_json(value))
        except Exception as error:
            failure = TypeError(f"The return value cannot be stored as JSON: {type(error).__name__}: {error}")
            return Outcome(Kind.FAILED, error=ErrorReport.of(failure), exception=failure)
        return Outcome(Kind.SUCCESSFUL, text, None, 0.0, keeps)

    def after_error(self, execution: Execution, options: TaskDefinition | None, error: BaseException) -> Outcome:
        if isinstance(error, Retry) and execution.claimed.terms is not None:
            self.pause_rate(execution.claimed, error.after)
        return self.judge(execution, options, error)

    def judge(self, execution: Execution, options: TaskDefinition | None, error: BaseException) -> Outcome:
        """Return what becomes of the task by this error."""
        claimed = execution.claimed
        if isinstance(error, StopTask) and execution.stop_reason is not None:
            return _stopped(execution, error)
        return retry.after_error(
            error,
            exhausted=retry.exhausted(
                attempt=claimed.attempt, crashes=claimed.crashes, max_attempts=claimed.max_attempts
            ),
            retry_on=options.retry_on if options else (Exception,),
            backoff=partial(self._backoff, execution, options, error),
            longest=self.backend_of(claimed).backoff["MAX"],
        )

    def pause_rate(self, claimed: Claimed, after: Any) -> None:
        """Whoever is told to come back later is told so for all: here, before the slot is free for the next of them."""
        if (seconds := retry.sane(after, otherwise=0.0)) > 0:
            try:
                self.store.pause_rate(claimed, seconds)
            except Error:
                logger.warning("The rate of %s could not be paused.", claimed.name, exc_info=True)

    def _backoff(self, execution: Execution, options: TaskDefinition | None, error: BaseException) -> float:
        """Return the seconds to wait. A backoff function that misbehaves means the longest wait."""
        defaults = self.backend_of(execution.claimed).backoff
        longest = defaults["MAX"]
        backoff = options.backoff if options else None
        if callable(backoff):
            try:
                return retry.sane(backoff(error, execution.result), otherwise=longest)
            except BaseException:
                logger.exception("The backoff function of %s raised; waiting %d s.", execution.claimed.name, longest)
                return longest
        if isinstance(backoff, int | float):
            return float(backoff)
        tried = execution.claimed.attempt - execution.claimed.crashes
        return retry.exponential(tried, {**defaults, **(backoff or {})})

    def give_up(self, execution: Execution) -> Execution:
        """Return the end of a run that its timeout could not stop. The run goes on, and its own end is void."""
        return self.given_up(execution, endless(execution))

    def given_up(self, execution: Execution, error: TaskTimeout) -> Execution:
        claimed = execution.claimed
        try:
            definition = resolve(claimed.task_path)
        except UnknownTask:  # it was there when the run began
            definition = None
        options = definition if isinstance(definition, TaskDefinition) else None
        end = Execution(claimed, claimed_at=execution.claimed_at)
        end.result, end.began, end.report = execution.result, execution.began, execution.said
        self.end(end, contextvars.Context().run(self.after_error, end, options, error))
        return end


# What most tasks return costs a tenth of a tiny one's time to judge anew.
RETURNED_NOTHING = {keeps: Outcome(Kind.SUCCESSFUL, payload.dump(None), keep_row=keeps) for keeps in (False, True)}
SCALARS = (str, int, float, bool)  # Django's normal form of these is what they are

FINISHED = {Kind.SUCCESSFUL: State.SUCCESSFUL, Kind.FAILED: State.FAILED, Kind.CANCELLED: State.CANCELLED}


def endless(execution: Execution) -> TaskTimeout:
    """Return the error of a run that does not end after its timeout."""
    error = TaskTimeout(execution.timeout)
    if (frame := sys._current_frames().get(execution.ident)) is not None:
        error.add_note(f"It does not end. It is here:\n{''.join(traceback.format_stack(frame))}")
    return error


def _without_database(claimed: Claimed, error: Error) -> Outcome:
    """The task has not begun: it is not to blame, and not charged, for a database that is away."""
    logger.warning("#%d could not begin, because the database failed.", claimed.id, exc_info=error)
    return Outcome(Kind.RELEASED, delay=NOT_BEGUN_SECONDS)


def _noting(errors: list[BaseException]) -> Callable[..., Any]:
    """Return a wrapper of a connection's statements that keeps the errors which the database answered."""

    def execute(execute: Callable[..., Any], *statement: Any) -> Any:
        try:
            return execute(*statement)
        except Error as error:
            errors.append(error)
            raise

    return execute


def _stopped(execution: Execution, error: StopTask) -> Outcome:
    """A task that stopped because it was asked to: a cancelled one is over, another goes back uncharged."""
    if execution.stop_reason is StopReason.CANCELLED:
        return Outcome(Kind.CANCELLED, error=ErrorReport.of(error), exception=error, by_request=True)
    return Outcome(Kind.RELEASED)
