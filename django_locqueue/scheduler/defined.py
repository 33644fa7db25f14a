"""Schedules that stand in code: those of ``@schedule``, and those of ``LOCQUEUE["SCHEDULES"]``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django_locqueue import conf
from django_locqueue.conf import did_you_mean
from django_locqueue.definition import TaskDefinition
from django_locqueue.exceptions import InvalidSchedule
from django_locqueue.models.task import NAME_LENGTH
from django_locqueue.scheduler.call import call_of, checked_missed, task_at
from django_locqueue.scheduler.rule import rule_of, zone_of

KEYS = ("task", "cron", "every", "timezone", "args", "kwargs", "missed")  # of an entry of the settings

D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinedSchedule:
    """One schedule as code has it. ``call``: ``{"args": [...], "kwargs": {...}}``."""

    name: str
    definition: Any
    call: Mapping[str, Any]
    cron: str
    every: int | None
    timezone: str  # empty: the project's
    missed: str

    def columns(self) -> dict[str, Any]:
        """Return what its row holds of it."""
        return {
            "task_path": self.definition.module_path,
            "args_kwargs": dict(self.call),
            "cron": self.cron,
            "every": self.every,
            "timezone": zone_of(self.timezone).key,
            "missed": self.missed,
        }


_decorated: dict[str, DefinedSchedule] = {}


def schedule(
    cron: str = "",
    *,
    every: int | None = None,
    timezone: str = "",
    missed: str = "once",
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    name: str = "",
) -> Callable[[D], D]:
    """Enqueue a task again and again: ``@schedule("0 3 * * *")`` above ``@task``.

    ``cron``: five fields, or ``every``: whole seconds. ``timezone``: a name; empty: the project's. ``missed``: what
    becomes of runs that nobody was there for: ``once``, ``skip`` or ``all``. ``name``: the task's path where none is
    given; a task that has two schedules needs one. Raises ``InvalidSchedule``, which says what is wrong.
    """

    def decorate(definition: D) -> D:
        if not isinstance(definition, TaskDefinition):
            raise TypeError(f"@schedule stands above @task, and is given a task; it got {definition!r:.80}.")
        given = {} if kwargs is None else kwargs
        defined = _defined(name or definition.module_path, definition, cron, every, timezone, missed, args, given)
        known = _decorated.get(defined.name)
        if known is not None and not _is_same(known.definition, definition):
            raise InvalidSchedule("name", f"{defined.name!r} is used twice. Give one of the two another: name=…")
        _decorated[defined.name] = defined
        return definition

    return decorate


def _is_same(known: TaskDefinition, definition: TaskDefinition) -> bool:
    """Whether it is the same task, whose module was loaded again."""
    return known.module_path == definition.module_path and known is not definition


def _defined(
    name: Any, definition: Any, cron: Any, every: Any, timezone: Any, missed: Any, args: Any, kwargs: Any
) -> DefinedSchedule:
    if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH or not name.isprintable():
        raise InvalidSchedule("name", f"must be 1 to {NAME_LENGTH} printable characters, got {name!r:.200}.")
    rule_of(cron, every, timezone)
    return DefinedSchedule(
        name=name,
        definition=definition,
        call=call_of(definition, args, kwargs),
        cron=" ".join(cron.split()),
        every=every,
        timezone=timezone,
        missed=checked_missed(missed),
    )


def from_settings(name: Any, entry: Any) -> DefinedSchedule:
    """Return the schedule of an entry of ``LOCQUEUE["SCHEDULES"]``. Raises :class:`InvalidSchedule`."""
    if not isinstance(entry, Mapping):
        example = '{"task": "shop.tasks.report", "cron": "0 3 * * *"}'
        raise InvalidSchedule("", f"must be a dict such as {example}, got {entry!r:.80}.")
    for key in entry:
        if key not in KEYS:
            raise InvalidSchedule("", f"has the unknown key {key!r}{did_you_mean(key, KEYS)}")
    definition = task_at(entry.get("task"))
    values = {"cron": "", "every": None, "timezone": "", "missed": "once", "args": [], "kwargs": {}, **entry}
    del values["task"]
    return _defined(name, definition, **values)


def settings_entries() -> Iterator[tuple[Any, DefinedSchedule | InvalidSchedule]]:
    """Give each name of ``LOCQUEUE["SCHEDULES"]`` with its schedule, or with what is wrong with it."""
    for name, entry in conf.schedules.given.items():
        try:
            yield name, from_settings(name, entry)
        except InvalidSchedule as error:
            yield name, error


def defined_schedules() -> list[DefinedSchedule]:
    """Return all that stand in code and can run; of one name, that of the settings, which a project can change."""
    by_name = dict(_decorated)
    by_name.update({name: found for name, found in settings_entries() if isinstance(found, DefinedSchedule)})
    return list(by_name.values())
