"""What waits in the queue, told so that a failing assertion can be read."""

import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from django_locqueue import compat
from django_locqueue.result import stored_result
from django_locqueue.store import get_store

MOST_SHOWN = 10


class Waiting(list[Any]):
    """The results of the calls that were asked for, in the order of their enqueueing; none: says what waits instead."""

    def __init__(self, found: Sequence[Any], wanted: str, others: Sequence[str]) -> None:
        super().__init__(found)
        self.wanted = wanted
        self.others = others

    def __repr__(self) -> str:
        if self:
            return f"<waiting: {', '.join(_call_of(result) for result in self)}>"
        return f"<{self.wanted} does not wait; {_listed(self.others)}>"


def enqueued(task: Any, *args: Any, **kwargs: Any) -> Waiting:
    """Return the results of the calls of ``task`` that wait to be run: ``assert enqueued(send_receipt, 7)``.

    Without arguments any call of it counts. With arguments only the same call does, whether they were given by
    position or by name; defaults are filled in.
    """
    waiting = _waiting(task)
    ours = [result for result in waiting if result.task.module_path == task.module_path]
    if args or kwargs:
        wanted = _bound(task, args, kwargs)
        found = [result for result in ours if _bound(task, result.args, result.kwargs) == wanted]
    else:
        found = ours
    name = _text(task, args, kwargs) if args or kwargs else task.module_path
    return Waiting(found, name, [_call_of(result) for result in waiting])


def assert_enqueued(task: Any, *args: Any, **kwargs: Any) -> Waiting:
    """Raise AssertionError if no such call waits, showing those that do. Return what :func:`enqueued` does."""
    __tracebackhide__ = True
    found = enqueued(task, *args, **kwargs)
    if not found:
        raise AssertionError(_difference(found))
    return found


def assert_not_enqueued(task: Any, *args: Any, **kwargs: Any) -> None:
    """Raise AssertionError if such a call waits."""
    __tracebackhide__ = True
    if found := enqueued(task, *args, **kwargs):
        raise AssertionError(f"{found.wanted} waits in the queue, {len(found)} time{'s' if len(found) > 1 else ''}.")


def _waiting(task: Any) -> list[Any]:
    backend = task.get_backend()
    if hasattr(backend, "results"):  # a dummy backend: all that it was ever given
        return list(backend.results)
    if not getattr(backend, "stores_in_locqueue", False):
        raise TypeError(
            f"{type(backend).__qualname__} keeps no calls that could be looked at. In tests of what is enqueued use "
            "django_locqueue's own backend or its DummyBackend."
        )
    rows = get_store(task.backend).tasks.pending().order_by("id")
    return [stored_result(row) for row in rows]


def _bound(task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return the arguments by name, as the function would get them; as they are, if it would not take them."""
    try:
        signature = inspect.signature(task.func)
        context = (None,) if task.takes_context else ()
        bound = signature.bind(*context, *args, **kwargs)
    except (TypeError, ValueError):
        return list(args), dict(kwargs)
    bound.apply_defaults()
    return compat.normalize_json(bound.arguments)


def _text(task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    written = [repr(value) for value in args] + [f"{name}={value!r}" for name, value in kwargs.items()]
    return f"{task.module_path}({', '.join(written)})"


def _call_of(result: Any) -> str:
    return _text(result.task, result.args, result.kwargs)


def _listed(calls: Sequence[str]) -> str:
    if not calls:
        return "nothing waits"
    more = f" and {len(calls) - MOST_SHOWN} more" if len(calls) > MOST_SHOWN else ""
    return f"what waits: {', '.join(calls[:MOST_SHOWN])}{more}"


def _difference(found: Waiting) -> str:
    """Return what was wanted and what waits, line by line, with the nearest call compared sign by sign."""
    if not found.others:
        return f"{found.wanted} is not in the queue: nothing waits."
    lines = [f"{found.wanted} is not in the queue."]
    near = difflib.get_close_matches(found.wanted, found.others, n=1, cutoff=0.4)
    if near and "(" in found.wanted:
        lines += ["The nearest call that waits (-: wanted, +: waits):"]
        lines += [f"  {line.rstrip()}" for line in difflib.ndiff([found.wanted], near)]
    lines += ["All that waits:", *(f"  {call}" for call in found.others[:MOST_SHOWN])]
    if len(found.others) > MOST_SHOWN:
        lines.append(f"  … and {len(found.others) - MOST_SHOWN} more")
    return "\n".join(lines)
