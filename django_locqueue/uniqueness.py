"""Calls of a definition that is unique: what is asked of the store for them, and what their callers get."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django_locqueue.definition import TaskDefinition
from django_locqueue.exceptions import DuplicateTask
from django_locqueue.models import Task
from django_locqueue.models.task import KEY_LENGTH
from django_locqueue.policies import payload
from django_locqueue.policies.key_template import fitted
from django_locqueue.policies.terms import load_terms
from django_locqueue.policies.unique import ListArgument, Unique, UniqueRule, distinct, rule_of
from django_locqueue.result import QueuedTaskResult, new_result, stored_result
from django_locqueue.store import Call, Itemised, Placed, Store

Arguments = tuple[Sequence[Any], Mapping[str, Any]]


def enqueue(
    store: Store, definition: Any, arguments: Sequence[Arguments], calls: Sequence[Call]
) -> list[QueuedTaskResult]:
    """Store calls of a unique definition, all or none; return their results in order.

    ``arguments``: of each call as they were given, ``calls``: as they would be stored if it were not unique. Raises
    DuplicateTask, and TypeError for arguments of which no key can be made.
    """
    unique = definition.unique
    rule = rule_of(definition)
    keys = [_key(definition, rule, *each) for each in arguments]
    if rule.items is not None:
        for each in arguments:
            rule.items.list_in(*each)  # raises now, and not at some later call that meets this one
    if unique.unique_items is not None and rule.items is not None:
        placed = store.enqueue_items(list(map(partial(_itemised, rule.items), keys, arguments, calls)))
    else:
        locked = [_locked(unique, *each) for each in zip(keys, calls, strict=True)]
        try:
            placed = store.enqueue_unique(locked, unique.on_conflict, rule.items and rule.items.merged)
        except DuplicateTask as duplicate:
            duplicate.task_result = _held_by(duplicate.holder)
            raise
    return [_result(definition, each) for each in placed]


def problem(definition: TaskDefinition, retention: Callable[[], Mapping[str, Any]]) -> str | None:
    """Return what is wrong with how a definition is unique, None if nothing is. ``retention``: days, by state."""
    unique: Any = definition.unique
    key: Any = definition.unique_key
    if key is not None and (unique is None or not isinstance(key, str) or not key):
        return f"unique_key must be a text for a task with unique=Unique(...), got {key!r}."
    if unique is None:
        return None
    if not isinstance(unique, Unique):
        return f"unique must be Unique(...), for instance Unique('order-{{order_id}}'); got {unique!r}."
    try:
        rule_of(definition)
    except ValueError as error:
        return str(error)
    if unique.unique_items is not None and definition.rate_limit is not None:
        # Its items are free when it starts, which may wait for a caller's commit: longer than a rate's start is good.
        return "unique_items do not go together with rate_limit: give concurrency, or the rate to a task of its own."
    if unique.seconds is None:
        return None
    if not definition.keep_result:
        return "unique for seconds needs the row of a task that has ended, which keep_result=False deletes."
    try:
        days = min(each for each in retention().values() if isinstance(each, int | float))
    except (TypeError, ValueError):  # for ever, or nonsense, which the system check tells
        return None
    if unique.seconds > days * 86_400:
        return (
            f"unique for seconds={unique.seconds} needs the row of a task that has ended, and the RETENTION of its "
            f"backend keeps some for {days} days only."
        )
    return None


def _key(definition: TaskDefinition, rule: UniqueRule, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    key = definition.unique_key if definition.unique_key is not None else rule.template.render(args, kwargs)
    return f"{definition.module_path}:{key}"


def _locked(unique: Unique, key: str, call: Call) -> Call:
    lock = fitted(key, KEY_LENGTH)
    columns = {
        "unique_key": lock,
        "unique_lock": lock,
        "unique_until": unique.held_until,
        "unique_seconds": unique.seconds,
    }
    return call._replace(extra=(*call.extra, *columns.items()))


def _itemised(argument: ListArgument, key: str, arguments: Arguments, call: Call) -> Itemised:
    items = distinct(argument.list_in(*arguments))
    values = list(items.values())

    def trimmed(places: Collection[int]) -> str:
        return payload.dump_call(*argument.with_items(*arguments, [values[place] for place in places]))

    columns = dict(call.extra)
    columns["unique_key"] = fitted(key, KEY_LENGTH)
    columns["terms"] = replace(load_terms(columns.get("terms")), unique_items=True).dump()
    call = call._replace(args_kwargs=trimmed(range(len(values))), extra=tuple(columns.items()))
    return Itemised(call, [fitted(f"{key}:{name}", KEY_LENGTH) for name in items], trimmed)


def _result(definition: TaskDefinition, placed: Placed) -> QueuedTaskResult:
    if placed.holder is not None:
        return _held_by(placed.holder)
    return new_result(definition, placed.id, placed.enqueued_at, *payload.load_call(placed.args_kwargs))


def _held_by(holder: Task) -> QueuedTaskResult:
    result = stored_result(holder)
    object.__setattr__(result, "is_duplicate", True)
    return result
