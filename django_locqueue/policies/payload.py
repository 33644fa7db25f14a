"""What a task may be called with and may return: JSON, unchanged by the journey.

Rule: what comes out equals what went in, or it is refused at the call, before any SQL. A NUL character and
a lone surrogate are kept: the text that is stored is ASCII, so no database sees them.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

MAX_DEPTH = 100  # deeper than this, json would end in a RecursionError far from the call

MAX_DIGITS = 4000  # Python reads 4,300
MAX_BITS = int(MAX_DIGITS * math.log2(10))

_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


def dump(value: Any) -> str:
    """Return ``value`` as compact ASCII JSON. Raises TypeError or ValueError for what JSON cannot hold."""
    if value is None:
        return "null"
    return repr(value) if type(value) is int else _encode(value)  # a third of the time for what most tasks return


def dump_call(args: Sequence[Any], kwargs: Mapping[str, Any], name_of: Callable[[int], str] | None = None) -> str:
    """Return the stored form of a call: ``{"args": [...], "kwargs": {...}}``.

    Raises TypeError (wrong type) or ValueError (NaN, infinity, too deep), naming the argument. ``name_of``: gives the
    name of the argument at a position, and is asked only about one that is refused.
    """
    written = []
    for position, value in enumerate(args):
        if not _is_plain(value):
            path = f"args[{position}]"
            try:
                _refuse_unfaithful(value, path, MAX_DEPTH)
            except (TypeError, ValueError) as error:
                if name_of is None:
                    raise
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(str(error).replace(path, name_of(position), 1)) from None
        written.append(dump(value))
    if not kwargs:
        return f'{{"args":[{",".join(written)}],"kwargs":{{}}}}'
    for name, value in kwargs.items():
        if not _is_plain(value):
            _refuse_unfaithful(value, name, MAX_DEPTH)
    return f'{{"args":[{",".join(written)}],"kwargs":{_encode(dict(kwargs))}}}'


def _is_plain(value: Any) -> bool:
    """Whether it is one of the values that most calls have, which need no closer look."""
    kind = type(value)
    return kind is str or (kind is int and value.bit_length() <= 64) or value is None or kind is bool


def load_call(text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return ``args, kwargs`` from the stored form. Raises ValueError if it is anything else."""
    try:
        value, end = _scan(text, 0)  # a third of the time of `loads`, which looks for white space around it
    except StopIteration:
        end = -1
    return call_of(value if end == len(text) else json.loads(text))


def call_of(value: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return ``args, kwargs`` from the decoded stored form. Raises ValueError if it is anything else."""
    if type(value) is dict:
        args, kwargs = value.get("args"), value.get("kwargs")
        if type(args) is list and type(kwargs) is dict:
            return args, kwargs
    raise ValueError(f'the stored call must be {{"args": [...], "kwargs": {{...}}}}, got {repr(value)[:80]}')


def _refuse_unfaithful(value: Any, path: str, depth: int) -> None:
    kind = type(value)
    if kind in (str, bool) or value is None:
        return
    if kind is int:
        # Python refuses to read more digits than this, so the stored call could not be loaded.
        if abs(value).bit_length() > MAX_BITS:
            raise ValueError(f"Argument {path} is a number of more than {MAX_DIGITS} digits. Pass a string.")
        return
    if kind is float:
        if not math.isfinite(value):
            raise ValueError(f"Argument {path} is {value!r}, which JSON cannot hold. Pass None or a string.")
        return
    if depth == 0:
        raise ValueError(f"Argument {path} is nested deeper than {MAX_DEPTH} levels.")
    if kind is list:
        for position, item in enumerate(value):
            _refuse_unfaithful(item, f"{path}[{position}]", depth - 1)
        return
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise TypeError(f"Argument {path} has the key {key!r} of type {kind_of(key)}; JSON keys are strings.")
            _refuse_unfaithful(item, f"{path}[{key!r}]", depth - 1)
        return
    raise TypeError(
        f"Argument {path} is of type {kind_of(value)}, which does not survive JSON. "
        f"Pass {_INSTEAD.get(kind.__name__, 'a string, number, boolean, None, list or dict')}."
    )


def kind_of(value: Any) -> str:
    """Return the type of ``value`` as a person writes it: ``tuple``, ``uuid.UUID``."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


_INSTEAD = {
    "tuple": "a list (a tuple would come back as one)",
    "set": "a list",
    "frozenset": "a list",
    "bytes": "a string, e.g. base64",
    "datetime": "value.isoformat()",
    "date": "value.isoformat()",
    "time": "value.isoformat()",
    "timedelta": "value.total_seconds()",
    "UUID": "str(value)",
    "Decimal": "str(value)",
}
