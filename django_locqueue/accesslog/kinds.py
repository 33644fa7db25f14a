"""What a setting has to be: each kind says what is wrong with a value, what to write instead, and under which id."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.core.checks import CheckMessage, Error
from django.utils.module_loading import import_string

from django_locqueue.accesslog.rules import as_list
from django_locqueue.conf import closest, place


@dataclass(frozen=True, slots=True)
class Kind:
    """``problem`` of a value ends a sentence that its setting begins; it is nothing if the value is right."""

    id: str
    problem: Callable[[Any], str]
    hint: str | Callable[[Any], str]

    def errors(self, where: str, value: Any) -> Iterator[CheckMessage]:
        if problem := self.problem(value):
            hint = self.hint if isinstance(self.hint, str) else self.hint(value)
            yield Error(f"{where} {problem}.", hint=hint, id=f"locqueue_accesslog.{self.id}")


def unless(is_right: Callable[[Any], bool], problem: str = "is {!r}") -> Callable[[Any], str]:
    return lambda value: "" if is_right(value) else problem.format(value)


def one_of(id: str, *choices: str) -> Kind:
    known = ", ".join(map(repr, choices))
    return Kind(id, unless(lambda value: value in choices), lambda value: f"Use one of {known}.{guess(value, choices)}")


def truth(id: str) -> Kind:
    hint = "Use True or False; a text from the environment is true, whatever it says."
    return Kind(id, unless(lambda value: isinstance(value, bool)), hint)


def number(id: str, least: float, most: float = math.inf, what: str = "a number", none: str = "") -> Kind:
    """``what`` begins with "a whole number" if it has to be one. ``none``: what None means, where it may be None."""
    types = int if what.startswith("a whole number") else (int, float)

    def is_right(value: Any) -> bool:
        is_number = isinstance(value, types) and not isinstance(value, bool)
        return bool(is_number and least <= value <= most) or (value is None and bool(none))

    reach = f", {least} or more" if most == math.inf else f" from {least} to {most}"
    return Kind(id, unless(is_right), f"Use {what}{reach}{none and f', or None {none}'}.")


def a_list(id: str, types: tuple[type, ...] = (list, tuple, set, frozenset)) -> Kind:
    return Kind(
        id,
        unless(lambda value: isinstance(value, types), "must be a list, got {!r}"),
        lambda value: f"Write {[value] if isinstance(value, str) else 'a list'}.",
    )


def function(id: str, signature: str) -> Kind:
    hint = f"Use None, a plain function that takes {signature}, or its dotted path."
    return Kind(id, _why_no_function, hint)


def _why_no_function(given: Any) -> str:
    value = given
    if isinstance(value, str):
        try:
            value = import_string(value)
        except (Exception, SystemExit) as error:  # whatever the module does while it is imported
            return f"is {given!r}, which cannot be imported ({error!r})"
    if value is not None and not callable(value):
        return f"must be a function, got {given!r}"
    # Its coroutine would be taken for an answer.
    return f"is called without being awaited, got {given!r}" if iscoroutinefunction(value) else ""


def wrong_values(
    kinds: Mapping[str, Kind], entries: Mapping[str, Kind], read: Callable[[str], Any], *group: str
) -> Iterator[CheckMessage]:
    """Yield the errors of settings, and of the entries of those that are lists."""
    for key, kind in kinds.items():
        yield from kind.errors(setting(*group, key), read(key))
    for key, kind in entries.items():
        if key not in kinds or not kinds[key].problem(read(key)):
            for entry in as_list(read(key)):
                yield from kind.errors(setting(*group, key), entry)


def setting(*keys: str) -> str:
    return place("LOCQUEUE", "ACCESS_LOG", *keys)


def guess(value: Any, known: Iterable[str]) -> str:
    close = closest(value, known)
    return f" Did you mean {close!r}?" if close else ""
