"""What makes two calls the same, and what becomes of the second: values and decisions, no database."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from django_locqueue.policies import payload
from django_locqueue.policies.key_template import KeyTemplate, signature_of
from django_locqueue.policies.numbers import is_number

STARTED, FINISHED, WINDOW = "started", "finished", "window"
SKIP, RAISE, REPLACE, DEBOUNCE, MERGE = "skip", "raise", "replace", "debounce", "merge"
ON_CONFLICT = (SKIP, RAISE, REPLACE, DEBOUNCE, MERGE)
LONGEST_SECONDS = 10 * 365 * 86_400


@dataclass(frozen=True, slots=True)
class Unique:
    """At most one task of a key: ``@task(unique=Unique("order-{order_id}"))``.

    ``key``: a text with names of arguments in braces. Each definition has keys of its own.

    ``until``: how long a task holds its key: ``"started"``, only while it waits; ``"finished"``, also while it runs and
    is tried again. ``seconds``: instead, for so long after it was enqueued, whatever becomes of it.

    ``on_conflict``: what becomes of a call whose key is held. ``"skip"``: nothing is stored, and its result is that of
    the task which holds the key, with ``is_duplicate``. ``"raise"``: ``DuplicateTask``. ``"replace"``: the waiting task
    gets its arguments, metadata and priority; ``"debounce"``: its ``run_after``; ``"merge"``: the items of its list
    argument that the waiting one does not have. A task that no longer waits cannot be changed: the call is stored then
    and takes the key over.

    ``items``: the list argument that ``"merge"`` extends, where it is not plain which is meant. ``unique_items``: the
    list argument of which only those items are enqueued that no waiting task of the key has.

    Raises ValueError for what does not fit together.
    """

    key: str
    until: str = STARTED
    seconds: float | None = None
    on_conflict: str = SKIP
    items: str | None = None
    unique_items: str | None = None

    def __post_init__(self) -> None:
        if self.until not in (STARTED, FINISHED):
            raise ValueError(f"until must be 'started' or 'finished', got {self.until!r}. A window is seconds=60.")
        if self.on_conflict not in ON_CONFLICT:
            raise ValueError(f"on_conflict must be one of {', '.join(ON_CONFLICT)}; got {self.on_conflict!r}.")
        if self.seconds is not None:
            if not (is_number(self.seconds, 0, LONGEST_SECONDS) and self.seconds > 0):
                raise ValueError(f"seconds must be a number above 0 and at most ten years, got {self.seconds!r}.")
            if self.until == FINISHED:
                raise ValueError("A key is held until='finished' or for some seconds, not both: leave one out.")
        if self.items is not None and self.on_conflict != MERGE:
            raise ValueError("items names the list that on_conflict='merge' extends; it has no meaning without.")
        if self.unique_items is not None and (self.until, self.seconds, self.on_conflict) != (STARTED, None, SKIP):
            raise ValueError(
                "unique_items holds each item until its task starts and leaves out what is held: "
                "it goes with no other until, seconds or on_conflict."
            )

    @property
    def held_until(self) -> str:
        return self.until if self.seconds is None else WINDOW


def identity(item: Any) -> str:
    """Return what tells items apart, as JSON does: 1 is neither ``True`` nor ``"1"``; the order of keys is nothing."""
    return json.dumps(item, sort_keys=True, separators=(",", ":"))


def distinct(items: Sequence[Any]) -> dict[str, Any]:
    """Return each item once, by its identity, in the order in which they first come."""
    found: dict[str, Any] = {}
    for item in items:
        found.setdefault(identity(item), item)
    return found


class ListArgument(NamedTuple):
    """The argument of a call that is a list of items. ``position``: None if it can only be given by name."""

    name: str
    position: int | None

    def list_in(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """Return the list in a call. Raises TypeError if there is none."""
        name, position = self
        value = kwargs.get(name) if position is None or position >= len(args) else args[position]
        if type(value) is not list:
            raise TypeError(f"Argument {name} must be a list, since its items are told apart; got {value!r:.80}.")
        return value

    def with_items(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], items: list[Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call with another list in the place of its own."""
        args, kwargs = [*args], {**kwargs}
        name, position = self
        if position is None or position >= len(args):
            kwargs[name] = items
        else:
            args[position] = items
        return args, kwargs

    def merged(self, held: Any, text: str) -> dict[str, Any] | None:
        """Return the call ``held`` with the items of another that it does not have yet. None: there is no list in it.

        ``held``: decoded; ``text``: as it would be stored.
        """
        try:
            args, kwargs = payload.call_of(held)
            has = self.list_in(args, kwargs)
        except (TypeError, ValueError):  # enqueued by other code, or edited by hand
            return None
        known = distinct(has)
        comes = distinct(self.list_in(*payload.load_call(text)))
        added = [item for name, item in comes.items() if name not in known]
        args, kwargs = self.with_items(args, kwargs, [*has, *added])
        return {"args": args, "kwargs": kwargs}


class UniqueRule(NamedTuple):
    """What a :class:`Unique` says of one function. ``items``: the list that is merged or trimmed."""

    template: KeyTemplate
    items: ListArgument | None

    def check(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Raise TypeError for arguments of which no key can be made, or that have no list where one is needed."""
        self.template.render(args, kwargs)
        if self.items is not None:
            self.items.list_in(args, kwargs)


def rule_of(definition: Any) -> UniqueRule:
    """Return the rule of a definition that is unique. Raises ValueError as below."""
    function = definition.func if definition.chunk is None else None
    return rule_for(definition.unique, function, definition.takes_context)


@lru_cache(maxsize=1024)
def rule_for(unique: Unique, function: Callable[..., Any] | None, takes_context: bool) -> UniqueRule:
    """Return the rule of a function. Raises ValueError for an argument that it does not have.

    ``function`` None: that of a chunk, which does not say what one call takes.
    """
    template = KeyTemplate(unique.key, function, takes_context=takes_context, option="the unique key")
    if function is None:
        if unique.unique_items is not None or unique.on_conflict == MERGE:
            raise ValueError("merge and unique_items need a function that names its list; that of a chunk does not.")
        return UniqueRule(template, None)
    parameters = list(signature_of(function, takes_context).parameters.values())
    items = None
    if unique.unique_items is not None:
        items = _list_argument(parameters, unique.unique_items, "unique_items", function)
    elif unique.on_conflict == MERGE:
        name = unique.items or _only_list(parameters, template.names)
        if name is None:
            raise ValueError(
                f"on_conflict='merge' does not know which argument of {function.__qualname__}() is the list: "
                "name it with items='…'."
            )
        items = _list_argument(parameters, name, "items", function)
    return UniqueRule(template, items)


def _list_argument(
    parameters: Sequence[inspect.Parameter], name: str, option: str, function: Callable[..., Any]
) -> ListArgument:
    named = [each for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    for position, parameter in enumerate(parameters):
        if parameter.name == name and parameter in named:
            return ListArgument(name, None if parameter.kind is parameter.KEYWORD_ONLY else position)
    raise ValueError(
        f"{option} names {name!r}, which is no argument of {function.__qualname__}() that can be given by name. "
        f"It has: {', '.join(each.name for each in named) or 'none'}."
    )


def _only_list(parameters: Sequence[inspect.Parameter], key_names: Sequence[str]) -> str | None:
    """Return the one argument that is declared as a list, or the one that is not part of the key; None if in doubt."""
    lists = [each.name for each in parameters if _is_list(each.annotation)]
    others = [each.name for each in parameters if each.name not in key_names]
    return lists[0] if len(lists) == 1 else others[0] if not lists and len(others) == 1 else None


def _is_list(annotation: Any) -> bool:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return text.partition("[")[0].rpartition(".")[2] in ("list", "List")
