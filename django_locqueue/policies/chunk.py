"""Chunks: many calls of a definition that its function gets at once, and what it may say of each."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django_locqueue.exceptions import ChunkFailed
from django_locqueue.policies.numbers import is_whole
from django_locqueue.policies.retry import sane

MOST_CALLS = 1000  # one claim takes all of them, and one transaction stores what came of them
WAIT_SECONDS = 0.5  # where the definition says nothing


@dataclass(frozen=True, slots=True)
class ChunkCall:
    """One of the calls that the function of a ``chunk`` definition gets: what was enqueued.

    ``id``: that of its result, for ``get_result``. ``attempt``: counted from 1.
    """

    args: list[Any]
    kwargs: dict[str, Any]
    id: str
    attempt: int
    metadata: dict[str, Any]
    _is_asked: Callable[[], bool] = field(default=lambda: False, repr=False, compare=False)

    @property
    def should_stop(self) -> bool:
        """True when somebody has cancelled this call, or the worker must leave, or another worker has it.

        Then :class:`~django_locqueue.exceptions.StopTask` may be its value: the queue knows what to do.
        """
        return self._is_asked()


def results(value: Any, calls: int) -> list[Any]:
    """Return what came of each call, by what the function has returned: a value, or an exception.

    A list or tuple holds one for each call in their order; anything else is the value of all. Raises ValueError for
    one of another length.
    """
    if not isinstance(value, list | tuple):
        return [value] * calls
    if len(value) != calls:
        raise ValueError(
            f"The function returned {len(value)} values for {calls} calls. It must return a list with a value for each "
            "call in their order, or one value that is no list for all of them."
        )
    return list(value)


def failures(error: BaseException, calls: int) -> list[Any]:
    """Return what came of each call, by what the function has raised: an exception, or None for success."""
    if not isinstance(error, ChunkFailed):
        return [error] * calls
    if strange := [index for index in error.errors if not 0 <= index < calls]:
        wrong = ValueError(f"ChunkFailed names call {strange[0]}; there were {calls}, numbered from 0.")
        wrong.__cause__ = error
        return [wrong] * calls
    return [error.errors.get(index) for index in range(calls)]


def problem(function: Callable[..., Any], chunk: Any, chunk_wait: Any, *, takes_context: bool) -> str | None:
    """Return what is wrong with a definition's ``chunk`` and ``chunk_wait``, None if nothing is."""
    if chunk is None:
        return None if chunk_wait is None else "chunk_wait has a meaning only with chunk=..."
    if not is_whole(chunk, 1, MOST_CALLS):
        return f"chunk must be a whole number of calls from 1 to {MOST_CALLS:,}, got {chunk!r}."
    if chunk_wait is not None and sane(chunk_wait, otherwise=-1) < 0:
        return f"chunk_wait must be a number of seconds from 0, got {chunk_wait!r}."
    return _signature_problem(function, takes_context=takes_context)


def _signature_problem(function: Callable[..., Any], *, takes_context: bool) -> str | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a callable that tells nobody
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    taken = list(signature.parameters.values())
    if len(taken) == 1 + takes_context and all(each.kind in positional for each in taken):
        return None
    wanted = "the context and one list of calls" if takes_context else "one list of calls and nothing else"
    name = getattr(function, "__name__", repr(function))
    return (
        f"chunk: the function is called with {wanted}, for instance {name}(calls). Its signature is {name}{signature}."
    )
