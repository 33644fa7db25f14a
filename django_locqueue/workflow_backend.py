"""The part of a backend that stores workflows: their steps checked, and made into calls."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from django_locqueue import compat, endings
from django_locqueue.definition import TaskDefinition
from django_locqueue.exceptions import WorkflowDoesNotExist
from django_locqueue.hooks import Dropped
from django_locqueue.models.task import PATH_LENGTH
from django_locqueue.models.workflow import StoredStep
from django_locqueue.origin import current_origin
from django_locqueue.pending_limit import admit, give_back
from django_locqueue.policies.outcome import shortened
from django_locqueue.policies.terms import load_terms
from django_locqueue.result import QueuedTaskResult, new_result, row_id
from django_locqueue.store import Call, get_store
from django_locqueue.workflow import Step, TaskCall
from django_locqueue.workflow_result import WorkflowResult, workflow_result

MOST_NAMES = 3  # of a step whose tasks are not all the same


class WorkflowBackend:
    """To be mixed into the backend."""

    alias: str
    pending_limits: Any

    def enqueue_workflow(self, steps: Sequence[Step]) -> WorkflowResult:
        """Store all tasks of a workflow, or none, in the caller's transaction if there is one; return its result.

        Hooks are asked about each call; what they drop is left out. Raises what :meth:`enqueue` raises, and
        ``InvalidTask`` for a definition that cannot be part of a workflow, or where nothing is left of it.
        """
        steps = [kept for step in steps if (kept := _asked(step)).calls]
        if not steps:
            raise compat.InvalidTask("Hooks have dropped every call of the workflow: there is nothing to store.")
        store = get_store(self.alias)
        stored = [_stored_step(self, step) for step in steps]
        if self.pending_limits:  # of later steps, as of what is delayed, each is counted when it waits
            admit(stored[0][1], self.pending_limits, store.count_pending)
        try:
            row, enqueued = store.enqueue_workflow(_name_of([step for step, _ in stored]), self.alias, stored)
        except BaseException:
            give_back(stored[0][1], self.pending_limits)
            raise
        calls = (call for step in steps for call in step.calls)
        self._announce(
            (each.id for each in enqueued),
            (
                new_result(call.definition, each.id, each.enqueued_at, call.args, call.kwargs)
                for call, each in zip(calls, enqueued, strict=True)
            ),
        )
        return workflow_result(row)

    def _announce(self, ids: Iterable[int], results: Iterable[QueuedTaskResult]) -> None:
        """Tell the present origin of what was stored, and the receivers, for whom alone the results are made."""
        if (origin := current_origin.get()) is not None:
            origin.enqueued(ids)
        if compat.is_heard(compat.task_enqueued, logging.DEBUG):
            for result in results:
                compat.task_enqueued.send(type(self), task_result=result)

    def get_workflow(self, workflow_id: str | int) -> WorkflowResult:
        """Return the result of a workflow. Raises ``WorkflowDoesNotExist``, also for a malformed id."""
        row = get_store(self.alias).workflows.filter(pk=row_id(workflow_id)).first()
        if row is None:
            raise WorkflowDoesNotExist(
                f"There is no workflow {str(workflow_id)[:40]!r}. Ended ones are pruned, see RETENTION."
            )
        return workflow_result(row)

    def cancel_workflow(self, workflow_id: str | int, reason: str = "", *, by: str = "") -> bool:
        """Cancel what waits of a workflow, ask what runs to stop, and begin nothing more. False: it had ended.

        ``by``: who asks for it. It stands with the reason in what the tasks end with.
        """
        return any(endings.cancel_workflow(get_store(self.alias), int(workflow_id), reason, by=by))


def _asked(step: Step) -> Step:
    """Return the step as the hooks of its calls' backends want it stored."""
    calls: list[TaskCall] = []
    for call in step.calls:
        hooks = getattr(call.definition.get_backend(), "hooks", None)
        if hooks is None or not hooks.before_enqueue:
            calls.append(call)
        elif not isinstance(asked := hooks.ask(call.definition, call.args, call.kwargs), Dropped):
            definition, args, kwargs = asked
            calls.append(TaskCall(definition, tuple(args), kwargs))
    return Step(tuple(calls), step.on_failure)


def _stored_step(backend: Any, step: Step) -> tuple[StoredStep, list[Call]]:
    """Return what is stored of a step. Raises ``InvalidTask`` for a definition that cannot be part of a workflow.

    ``backend``: of the first call. The others may have backends of their own on the same database.
    """
    calls: list[Call] = []
    for definition, members in groupby(step.calls, key=attrgetter("definition")):
        calls += _calls(backend, definition, [(each.args, each.kwargs) for each in members])
    names = list(dict.fromkeys(each.definition.name for each in step.calls))
    label = ", ".join(names[:MOST_NAMES]) + (", …" if len(names) > MOST_NAMES else "")
    return (
        StoredStep(
            label=shortened(label, PATH_LENGTH),
            size=len(calls),
            runs_on_failure=step.on_failure == "run",
            is_limited=any(dict(call.extra).get("limit_key") is not None for call in calls),
            forgets=any(not _is_kept(each.definition) for each in step.calls),
        ),
        calls,
    )


def _name_of(steps: Sequence[StoredStep]) -> str:
    """Return the name under which a person finds the workflow: ``fetch → mail × 3 → report``."""
    parts = [step.label if step.size == 1 else f"{step.label} × {step.size:,}" for step in steps]
    return shortened(" → ".join(parts), PATH_LENGTH)


def _calls(first: Any, definition: Any, calls: Sequence[Any]) -> Iterator[Call]:
    backend = definition.get_backend()
    if not getattr(backend, "stores_in_locqueue", False) or backend.database != first.database:
        where = getattr(backend, "database", type(backend).__qualname__)
        raise compat.InvalidTask(
            f"All tasks of a workflow are stored in one database, that of its first ({first.database!r}); "
            f"{definition.name} belongs to TASKS[{definition.backend!r}] ({where!r})."
        )
    if getattr(definition, "unique", None) is not None:
        raise compat.InvalidTask(
            f"{definition.name} is unique, and cannot be part of a workflow: of a duplicate nothing would be stored, "
            f"and the next step would wait for it for ever. Let a task of the workflow enqueue it."
        )
    made: Iterator[Call] = backend.checked_calls(definition, calls)
    return made if _is_kept(definition) else map(_forgettable, made)


def _is_kept(definition: Any) -> bool:
    return not isinstance(definition, TaskDefinition) or definition.keep_result


def _forgettable(call: Call) -> Call:
    """Its row stays until the workflow has succeeded: the next step needs its result."""
    extra = dict(call.extra)
    extra["terms"] = replace(load_terms(extra.get("terms")), forget=True).dump()
    return call._replace(extra=tuple(extra.items()))
