"""The steps of a workflow as they are stored: checked, and made into calls."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from django_locqueue import compat
from django_locqueue.definition import TaskDefinition
from django_locqueue.models.task import PATH_LENGTH
from django_locqueue.policies.outcome import shortened
from django_locqueue.policies.stored_step import StoredStep
from django_locqueue.policies.terms import load_terms
from django_locqueue.store import Call
from django_locqueue.workflow import Step

MOST_NAMES = 3  # of a step whose tasks are not all the same


def stored_step(backend: Any, step: Step) -> tuple[StoredStep, list[Call]]:
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


def name_of(steps: Sequence[StoredStep]) -> str:
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
