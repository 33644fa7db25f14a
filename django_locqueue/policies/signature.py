"""Whether a function can be called with the arguments of a call: told where the call is written, not by its worker."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple


class Accepted(NamedTuple):
    """What a function takes. With nothing named, from ``least`` to ``most`` arguments are right."""

    signature: inspect.Signature
    least: int
    most: int


class Mismatch(NamedTuple):
    """``problem``: what is missing, superfluous or unknown. ``signature``: without the context."""

    signature: inspect.Signature
    problem: str


def check_arguments(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], *, takes_context: bool
) -> None:
    """Raise TypeError for a call that the function would refuse. The context is not among ``args``."""
    if found := mismatch(function, args, kwargs, takes_context=takes_context):
        raise TypeError(f"{function.__name__}{found.signature} cannot be called so: {found.problem}.")


def mismatch(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], *, takes_context: bool
) -> Mismatch | None:
    """Return why the function would refuse a call; None if it takes it, or tells nobody what it takes."""
    accepted = _accepted(function, takes_context)
    if accepted is None or (not kwargs and accepted.least <= len(args) <= accepted.most):
        return None
    try:
        accepted.signature.bind(*args, **kwargs)
    except TypeError as error:
        return Mismatch(accepted.signature, str(error))
    return None


@lru_cache(maxsize=1024)
def _accepted(function: Callable[..., Any], takes_context: bool) -> Accepted | None:
    try:
        # What a decorator wraps is not what is called: it may add arguments, or take some away.
        signature = inspect.signature(function, follow_wrapped=False)
    except (TypeError, ValueError):  # a callable that tells nobody
        return None
    taken = list(signature.parameters.values())
    if takes_context and taken and taken[0].kind is not inspect.Parameter.VAR_POSITIONAL:
        taken = taken[1:]
        signature = signature.replace(parameters=taken)
    positional = [each for each in taken if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    needed = [each for each in taken if each.default is each.empty and each.kind not in _STARRED]
    # A keyword that must be named makes any call without one wrong: `bind` says it.
    least = len(positional) + 1 if any(each.kind is each.KEYWORD_ONLY for each in needed) else len(needed)
    return Accepted(signature, least, len(positional))


_STARRED = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
